"""Digests of a row's stored bytes: 64 bits that show whether two images are the same.

Each has three: of the key's columns, of all columns but BLOBs, and of BLOBs (TEXT, JSON, GEOMETRY
and VECTOR among them), which NOBLOB images may lack. They are no proof against collisions that are
made on purpose.
"""

from libc.string cimport memcpy

from binlogkit._kernel.native.layout cimport *

cdef enum:
    DIGESTS = 3  # of an image; a column's bits say which of them it belongs to
    DIGEST_ABSENT = 8  # the image has none of the columns; 0: there is no image
    DIGEST_PARTLY = 2  # it lacks one of them, or says only how a document changes

cdef inline uint64_t mixed(uint64_t digest, uint64_t more) noexcept nogil:
    digest = (digest ^ more) * <uint64_t>0x9E3779B97F4A7C15
    return digest ^ digest >> 29

cdef inline uint64_t digest_of(octets p, octets end) noexcept nogil:
    """The digest of a cell's bytes.

    Their number is spread over all bits: by itself it met the first bytes, which hold a length too.
    """
    cdef uint64_t digest = <uint64_t>(end - p) * <uint64_t>0xC2B2AE3D27D4EB4F
    cdef uint64_t more
    while end - p >= 8:
        memcpy(&more, p, 8)
        digest = mixed(digest, more)
        p += 8
    return mixed(digest, little(p, <int>(end - p)))
