"""Schema files: mysqldump's output and plain scripts."""

from __future__ import annotations

import pytest

from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.dump import load_schema

#: As mysqldump 8.0 and 5.7 write it, shortened.
DUMP = r"""-- MySQL dump 10.13  Distrib 8.0.31, for Linux (x86_64)
--
-- Host: localhost    Database: shop
-- ------------------------------------------------------
-- Server version	8.0.31

/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;

--
-- Table structure for table `orders`
--

DROP TABLE IF EXISTS `orders`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!50503 SET character_set_client = utf8mb4 */;
CREATE TABLE `orders` (
  `id` int unsigned NOT NULL AUTO_INCREMENT,
  `note` varchar(20) COLLATE utf8mb4_bin DEFAULT 'a;b',
  `state` enum('new','it''s; done') NOT NULL,
  `hidden` int DEFAULT NULL /*!80023 INVISIBLE */,
  `twice` int GENERATED ALWAYS AS ((`id` * 2)) VIRTUAL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `u` (`note`)
) ENGINE=InnoDB AUTO_INCREMENT=3 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci
/*!50100 PARTITION BY HASH (`id`)
PARTITIONS 4 */;
/*!40101 SET character_set_client = @saved_cs_client */;

LOCK TABLES `orders` WRITE;
/*!40000 ALTER TABLE `orders` DISABLE KEYS */;
INSERT INTO `orders` (`id`, `note`) VALUES (1,'CREATE TABLE x (a int);'),(2,'it\'s');
/*!40000 ALTER TABLE `orders` ENABLE KEYS */;
UNLOCK TABLES;
/*!50003 SET @saved_sql_mode       = @@sql_mode */ ;
/*!50003 SET sql_mode              = 'ANSI_QUOTES' */ ;
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER `t` BEFORE INSERT
  ON `orders` FOR EACH ROW BEGIN CREATE TABLE nothing (a int); SET NEW.note = "x;"; END */;;
DELIMITER ;
/*!50003 SET sql_mode              = @saved_sql_mode */ ;
/*!50001 CREATE VIEW `v` AS SELECT 1 AS `a`*/;

CREATE DATABASE /*!32312 IF NOT EXISTS*/ `other` /*!40100 DEFAULT CHARACTER SET latin1 */;

USE `other`;
CREATE TABLE `t` (
  `a` char(3) DEFAULT NULL
);
DELIMITER ;;
CREATE PROCEDURE `p`() BEGIN CREATE TABLE no2 (a INT); END ;;
DELIMITER ;
"""


def test_mysqldump() -> None:
    catalog = load_schema(DUMP)
    assert catalog.server_version == "8.0.31"
    assert [(t.db, t.table) for t in catalog.tables()] == [("other", "t"), ("shop", "orders")]
    orders = catalog.table("shop", "orders")
    assert orders is not None
    assert [c.name for c in orders.columns] == ["id", "note", "state", "hidden", "twice"]
    assert orders.columns[2].labels == ("new", "it's; done")
    assert orders.columns[3].invisible
    assert orders.columns[4].generated == "virtual"
    assert orders.primary_key == ("id",)
    assert orders.unique_keys == (("note",),)
    other = catalog.table("other", "t")
    assert other is not None and other.columns[0].charset == "latin1"


def test_ansi_mode_in_a_script() -> None:
    catalog = load_schema(
        'USE d; SET sql_mode = \'ANSI\'; CREATE TABLE "a b" (c REAL); SET SESSION sql_mode=\'\';'
        "CREATE TABLE d (e ENUM(\"x\"), f REAL);",
    )  # fmt: skip
    assert [(t.table, t.columns[-1].type) for t in catalog.tables()] == [
        ("a b", "float"),
        ("d", "double"),
    ]


def test_a_table_without_a_database_is_an_error() -> None:
    with pytest.raises(SchemaError, match="name the database"):
        load_schema("CREATE TABLE t (a INT)")


def test_what_is_not_understood_is_unknown_and_the_rest_is_read() -> None:
    catalog = load_schema(
        "USE d;\nCREATE TABLE a (x INET6);\nCREATE TABLE b (x INT);\nINSERT INTO b VALUES ('open",
    )
    assert "INET6" in str(catalog.is_unknown("d", "a"))
    assert [t.table for t in catalog.tables()] == ["b"]


def test_data_is_passed_over() -> None:
    row = "(1,'some text with \\'quotes\\' and ; signs',NULL,_binary '\\0\\0',0x0011),"
    insert = "INSERT INTO `orders` VALUES " + row * 2_000 + "(2,'','',0,0);\n"
    text = DUMP + insert * 12
    assert len(load_schema(text).tables()) == 2
