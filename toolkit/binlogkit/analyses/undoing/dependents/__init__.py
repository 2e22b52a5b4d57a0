"""Which later changes depend on a change that is to be undone.

A change D of the log *depends* on an earlier change C if the log without C could not hold D as it
is, or if undoing C alone would undo D's work or violate a key. Both were committed, and no ROLLBACK
TO SAVEPOINT undid them. Unlogged cascades (up to 9.5) are a part of the change that caused them.
D depends on C by

``same_row``
    the same row, followed through changes of its key: C inserted it and D updates it; or both are
    updates and D sets a column that C set, or one of them sets the key by which the other finds the
    row. Columns of one key (primary, unique, foreign, or referred to by one) count as one. An
    update of other columns does not depend on an update. In a table without a key: D removes a row
    equal to one that C left, and too few of them are there in the end;
``deleted``
    the row: D deletes it, and C inserted or updated it;
``unique``
    a value of a primary or unique key: C freed it, and D uses it;
``child``
    a foreign key: C created the parent's value to which D's row refers;
``parent``
    a foreign key: the row that C deleted, or changed, referred to a value that D removes;
``unknown``
    D may be one of these, but that is not certain: images (MINIMAL) lack the value, columns were
    renamed, or it is not known which rows a cascade reached or how many equal rows there were.

Dependence is transitive. Values count as equal here if any collation may call them equal: a change
may be reported as a dependent that is none, but not the other way round. Keys are those of the
known definitions and of the table maps. Other unique keys, triggers, and changes logged as
statements are not considered. Of rows that an unlogged cascade deleted with a change that is not
chosen only the key's value is known, so that nothing depends on their other values. A statement
that only *read* a row leaves nothing in a log.

A change is undone completely or not at all. So a chosen change whose dependents are not all undone
as well has a *conflict*.
"""
