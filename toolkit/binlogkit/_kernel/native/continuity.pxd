from libc.stdint cimport int64_t, uint32_t, uint64_t

from binlogkit._kernel.native.digests cimport *

# What is known of a row; ``key`` 0: the place is free.
ctypedef struct Known:
    uint64_t key
    uint32_t state[2]  # of its columns but BLOBs, of those

# An image's digests.
ctypedef struct Digested:
    uint64_t key
    uint64_t state[2]

ctypedef Known* known_p
ctypedef const Digested* digested_p

cdef extern from *:
    """
    #define binlogkit_prefetch(p) __builtin_prefetch(p, 1)
    """
    void prefetch "binlogkit_prefetch" (const void* p) nogil
