"""Which later changes depend on a change that is to be taken back.

A change D of the log *depends* on an earlier change C where the log without C could not hold D as
it is, or where taking C back alone would take D's work along or stop at a key. Both count: they
were committed, and no ROLLBACK TO SAVEPOINT took them back. What foreign keys did below the log
(up to 9.5) is a part of the change that it came with. So D depends on C by

``same_row``
    the row, followed through changes of its key: C inserted it and D updates it; or both are
    updates, and D sets a column that C set, or one of them sets the key, by which the other finds
    the row. Columns of one key (primary, unique, foreign, or referred to by one) count as one. An
    update of other columns does not depend on an update. In a table without a key: D takes a row
    equal to one that C left, and not enough of them are there in the end;
``deleted``
    the row: D deletes it, and C inserted or updated it;
``unique``
    a value of a primary or unique key: C gave it up, and D takes it;
``child``
    a foreign key: C made the value of the parent's row that D's row refers to;
``parent``
    a foreign key: the row that C deleted, or changed, referred to a row whose value D takes away;
``unknown``
    nothing that the log tells: D may be one of these, but images (MINIMAL) do not hold the value,
    or columns were renamed, or it is not known which rows a foreign key struck, or how many equal
    rows there were.

Dependence is transitive. Values are equal here where any collation may say so: a change may be
taken for a dependent that is none, not the other way round. Keys are those of the definitions known
and of the table maps; of another unique key, and of triggers, nothing is known, nor of what is
logged as statements. What a foreign key took below the log with a change that is not chosen is
known by the key's value only, so that nothing depends on its other values. A statement that only
*read* a row leaves nothing in a log.

Taking back is all or nothing for each change, so a chosen change whose dependents are not all
taken back as well has a *conflict*.
"""
