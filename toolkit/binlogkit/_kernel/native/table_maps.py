"""Table maps by what they say: the same map again has the same slot, whichever id it gives.

A server writes the map before every statement, so a log holds the same few again and again. The
bodies are kept here, as copies, without the table id in front.
"""

import os

import cython
from cython.cimports.binlogkit._kernel.native.table_maps import Body, Place
from cython.cimports.libc.stdlib import calloc, free, malloc, realloc
from cython.cimports.libc.string import memcmp, memcpy, memset

_FIRST = cython.declare(cython.int, 64)
# A log that was made to be slow to read cannot know these.
_SECRET = cython.declare(uint64_t, int.from_bytes(os.urandom(8), "little") | 1)
_SALT = cython.declare(uint64_t, int.from_bytes(os.urandom(8), "little"))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _mixed(value: uint64_t) -> uint64_t:
    # Both halves of the product: a difference in the highest bits of a factor, which the low half
    # would keep as it is, depends on the secret too.
    product: u128 = cython.cast(u128, value ^ _SALT) * _SECRET
    return cython.cast(uint64_t, product) ^ cython.cast(uint64_t, product >> 64)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hash(p: octets, size: int64_t) -> uint32_t:
    code: uint64_t = size
    word: uint64_t
    while size >= 8:
        memcpy(cython.address(word), p, 8)
        code = _mixed(code ^ word)
        p += 8
        size -= 8
    word = 0
    memcpy(cython.address(word), p, size)
    return cython.cast(uint32_t, _mixed(code ^ word))


class TableMaps:
    """The maps of a log; ``count``: how many different ones."""

    def __cinit__(self):
        self.hash_size = self.place_size = _FIRST
        self.by_hash = cython.cast(
            cython.pointer(int32_t), calloc(self.hash_size, cython.sizeof(int32_t))
        )
        self.places = cython.cast(
            cython.pointer(Place), calloc(self.place_size, cython.sizeof(Place))
        )
        if self.by_hash is cython.NULL or self.places is cython.NULL:
            raise MemoryError

    def __dealloc__(self):
        i: int64_t
        for i in range(self.count):
            free(self.bodies[i].data)
        free(self.bodies)
        free(self.by_hash)
        free(self.places)

    def check_idle(self):
        """RuntimeError: a scan adds maps just now."""
        if self.busy:
            raise RuntimeError("the table maps are being written in another thread")
        return 0

    def body(self, slot: int32_t):
        """The body of a map after its table id."""
        self.check_idle()
        if not 0 <= slot < self.count:
            raise IndexError(slot)
        return cython.cast(cython.p_char, self.bodies[slot].data)[: self.bodies[slot].size]

    def ids(self):
        """(table id, slot) of every id that stands for a map."""
        i: int64_t
        found = []
        self.check_idle()
        for i in range(self.place_size):
            if self.places[i].used and self.places[i].slot >= 0:
                found.append((self.places[i].id, self.places[i].slot))
        return found

    def renew(self):
        """Let every map that comes again have a slot of its own, as tables have changed.

        Returns the slots that ids stand for, in order: they are 0, 1, … from here on.
        """
        i: int64_t
        kept: int32_t = 0
        renamed: cython.pointer(int32_t)
        found = []
        self.check_idle()
        renamed = cython.cast(
            cython.pointer(int32_t), calloc(self.count + 1, cython.sizeof(int32_t))
        )
        if renamed is cython.NULL:
            raise MemoryError
        for i in range(self.place_size):
            if self.places[i].used and self.places[i].slot >= 0:
                renamed[self.places[i].slot] = 1
        for i in range(self.count):
            if not renamed[i]:
                free(self.bodies[i].data)
                continue
            self.bodies[kept] = self.bodies[i]
            renamed[i] = kept
            kept += 1
            found.append(i)
        for i in range(self.place_size):
            if self.places[i].used and self.places[i].slot >= 0:
                self.places[i].slot = renamed[self.places[i].slot]
        free(renamed)
        self.count = self.kept = kept
        memset(self.by_hash, 0, self.hash_size * cython.sizeof(int32_t))
        return found

    def forget_ids(self):
        """No id stands for a map any more; the maps stay known."""
        self.check_idle()
        memset(self.places, 0, self.place_size * cython.sizeof(Place))
        self.place_count = 0

    def find(self, table_id):
        """Where an id is, or would be."""
        mask: uint64_t = self.place_size - 1
        i: uint64_t = _mixed(table_id) & mask
        while self.places[i].used and self.places[i].id != table_id:
            i = (i + 1) & mask
        return self.places + i

    def slot_of(self, table_id):
        """The slot that an id stands for, -1 for none."""
        place: cython.pointer(Place) = self.find(table_id)
        return place.slot if place.used else -1

    def put(self, table_id, slot):
        """Let an id stand for a slot from here on; NULL: no memory."""
        place: cython.pointer(Place)
        if 2 * self.place_count >= self.place_size and not self.widen():
            return cython.NULL
        place = self.find(table_id)
        if not place.used:
            place.used = 1
            place.id = table_id
            place.slot = place.statement = -1
            self.place_count += 1
        place.changed = place.statement == self.statement and place.slot != slot
        place.statement = self.statement
        place.slot = slot
        return place

    def in_statement(self, table_id):
        """Whether an id was given a map in the statement that is open."""
        place: cython.pointer(Place) = self.find(table_id)
        return place.used and place.statement == self.statement

    def widen(self):
        """Twice the places for ids."""
        i: int64_t
        size: int64_t = self.place_size
        old: cython.pointer(Place) = self.places
        place: cython.pointer(Place)
        self.places = cython.cast(cython.pointer(Place), calloc(2 * size, cython.sizeof(Place)))
        if self.places is cython.NULL:
            self.places = old
            return False
        self.place_size = 2 * size
        for i in range(size):
            if old[i].used:
                place = self.find(old[i].id)
                place[0] = old[i]
        free(old)
        return True

    def rehash(self):
        """Twice the places for bodies."""
        i: int64_t
        k: uint64_t
        size: int64_t = 2 * self.hash_size
        table: cython.pointer(int32_t) = cython.cast(
            cython.pointer(int32_t), calloc(size, cython.sizeof(int32_t))
        )
        if table is cython.NULL:
            return False
        for i in range(self.kept, self.count):
            k = self.bodies[i].hash & (size - 1)
            while table[k]:
                k = (k + 1) & (size - 1)
            table[k] = cython.cast(int32_t, i + 1)
        free(self.by_hash)
        self.by_hash = table
        self.hash_size = size
        return True

    def intern(self, body, size, new):
        """The slot of a map; ``new``: it was not met before. -1: no memory."""
        code: uint32_t = _hash(body, size)
        i: uint64_t = code & (self.hash_size - 1)
        slot: int32_t
        bodies: cython.pointer(Body)
        capacity: int64_t
        kept: cython.pointer(uint8_t)
        new[0] = False
        while self.by_hash[i]:
            slot = self.by_hash[i] - 1
            if self.bodies[slot].hash == code and self.bodies[slot].size == size:
                if memcmp(self.bodies[slot].data, body, size) == 0:
                    return slot
            i = (i + 1) & (self.hash_size - 1)
        if self.count == self.body_capacity:
            capacity = 2 * self.body_capacity if self.body_capacity else _FIRST
            bodies = cython.cast(
                cython.pointer(Body), realloc(self.bodies, capacity * cython.sizeof(Body))
            )
            if bodies is cython.NULL:
                return -1
            self.bodies = bodies
            self.body_capacity = capacity
        kept = cython.cast(cython.pointer(uint8_t), malloc(size if size else 1))
        if kept is cython.NULL:
            return -1
        memcpy(kept, body, size)
        self.bodies[self.count].data = kept
        self.bodies[self.count].size = size
        self.bodies[self.count].hash = code
        self.by_hash[i] = self.count + 1
        self.count += 1
        new[0] = True
        if 2 * cython.cast(int64_t, self.count) >= self.hash_size and not self.rehash():
            return -1
        return self.count - 1
