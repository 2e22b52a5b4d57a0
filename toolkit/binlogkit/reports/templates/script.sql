{comments}--
-- Run it with: mysql --batch < FILE (it stops, and keeps nothing, at an error).
-- It rolls back in the end unless the next line says 1 AND every statement changed
-- exactly one row (or, if it does not compare what it sets, found it so already) AND each
-- row that was written, read back after its statement, holds what was meant (FLOAT, DOUBLE
-- and JSON are not compared). Where changes were refused it
-- keeps the others only if the line after that says 1, too; where triggers act on its
-- statements, only if the last of these lines says 1: what they do elsewhere is not undone,
-- and done once more. Tables of engines without transactions (MyISAM) are not rolled back.
-- JSON is written from its text: a DECIMAL, date or binary value in it loses its type. The
-- statements go to this server's binary log as any others do.
SET @bk_commit = {commit};
SET @bk_despite_refused = {despite_refused};
SET @bk_despite_triggers = {despite_triggers};
--
SET @bk_wrong = 0, @bk_same = 0, @bk_referred = 0, @bk_found = NULL, @bk_which = '', @bk_orphans = 0, @bk_triggers = NULL, @bk_keys = NULL;
SET @bk_character_set_client = @@SESSION.character_set_client;
SET @bk_character_set_connection = @@SESSION.character_set_connection;
SET @bk_collation_connection = @@SESSION.collation_connection;
SET @bk_time_zone = @@SESSION.time_zone;
SET @bk_sql_mode = @@SESSION.sql_mode;
SET @bk_unique_checks = @@SESSION.unique_checks;
SET @bk_sql_safe_updates = @@SESSION.sql_safe_updates;
SET @bk_sql_auto_is_null = @@SESSION.sql_auto_is_null;
SET @bk_autocommit = @@SESSION.autocommit;
SET @bk_foreign_key_checks = @@SESSION.foreign_key_checks;
{saved}-- character_set_client: the script itself is ASCII
SET SESSION character_set_client = utf8mb4;
-- character_set_connection: plain literals are compared as utf8mb4
SET SESSION character_set_connection = utf8mb4;
-- collation_connection: 5.7 and 8.0 both have it
SET SESSION collation_connection = utf8mb4_general_ci;
-- time_zone: TIMESTAMP values are written in UTC
SET SESSION time_zone = '+00:00';
-- sql_mode: nothing is cut off in silence; zero dates, incomplete dates and the id 0 can be written
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
-- unique_checks: 0 would let InnoDB skip checks of secondary unique keys
SET SESSION unique_checks = 1;
-- sql_safe_updates: rows of tables without a key are found by their values
SET SESSION sql_safe_updates = 0;
-- sql_auto_is_null: IS NULL means NULL
SET SESSION sql_auto_is_null = 0;
-- autocommit: also after an error nothing is kept one by one
SET SESSION autocommit = 0;
{checks}{generated}START TRANSACTION;
{before}{statements}
{after}{triggers}{keys}{refusals}-- Verdict on {count} statements, {refused} refused
SET @bk_end = IF(@bk_commit = 1 AND @bk_wrong = 0 AND @bk_same = {written} AND @bk_orphans = 0 AND (@bk_triggers IS NULL OR @bk_despite_triggers = 1) AND @bk_keys IS NULL AND {consent}, 'COMMIT', 'DO 0');
PREPARE bk_statement FROM @bk_end;
EXECUTE bk_statement;
DEALLOCATE PREPARE bk_statement;
-- Rolls back what was not committed on the line before.
ROLLBACK;
SELECT {count} AS statements, {refused} AS refused, @bk_wrong AS not_one_row, {written} - @bk_same AS not_as_meant, TRIM(@bk_which) AS those_statements, CASE WHEN @bk_end = 'COMMIT' THEN '{committed}' WHEN @bk_orphans > 0 AND @bk_wrong = 0 THEN 'rolled back: foreign keys would refer to rows that are not there{rest}' WHEN @bk_keys IS NOT NULL THEN CONCAT('rolled back: foreign keys that are not in the log act on these statements: ', CONVERT(@bk_keys USING utf8mb4), '; make the script with the definitions of their tables{rest}') WHEN @bk_wrong = 0 AND @bk_same = {written} AND @bk_triggers IS NOT NULL AND @bk_despite_triggers <> 1 THEN CONCAT('rolled back: triggers act on these statements: ', CONVERT(@bk_triggers USING utf8mb4), '; set @bk_despite_triggers to 1 to keep them all the same{rest}') WHEN @bk_wrong = 0 AND @bk_same = {written} THEN '{rolled_back}' WHEN @bk_wrong = 0 THEN 'rolled back: not every row holds what was written to it{rest}' WHEN @bk_referred > 0 THEN 'rolled back: foreign keys would change or delete other rows than those to be undone, or refuse because of them{rest}' ELSE 'rolled back: not every statement changed exactly one row{rest}' END AS verdict;
SET SESSION character_set_client = @bk_character_set_client;
SET SESSION character_set_connection = @bk_character_set_connection;
SET SESSION collation_connection = @bk_collation_connection;
SET SESSION time_zone = @bk_time_zone;
SET SESSION sql_mode = @bk_sql_mode;
SET SESSION unique_checks = @bk_unique_checks;
SET SESSION sql_safe_updates = @bk_sql_safe_updates;
SET SESSION sql_auto_is_null = @bk_sql_auto_is_null;
SET SESSION foreign_key_checks = @bk_foreign_key_checks;
{restored}SET SESSION autocommit = @bk_autocommit;
