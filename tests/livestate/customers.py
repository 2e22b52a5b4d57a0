"""Customers of a bank (test_consistency_server.py), in a process of their own: ``PORT SESSIONS
PAUSE``; the password comes on standard input, and then the wish to end."""

from __future__ import annotations

import random
import sys
import threading
import time

import pymysql
from pymysql.constants import CLIENT

ACCOUNTS = 20


def move(port: int, password: str, seed: int, pause: float, over: threading.Event) -> int:
    """Move money at random; how many transactions there were."""
    chance, done, due = random.Random(seed), 0, time.monotonic()
    with (
        pymysql.connect(
            host="127.0.0.1", port=port, user="root", password=password,
            client_flag=CLIENT.MULTI_STATEMENTS,
        ) as session,
        session.cursor() as cursor,
    ):  # fmt: skip
        while not over.is_set():
            giver, receiver = sorted(chance.sample(range(ACCOUNTS), 2))
            amount = chance.randrange(-50, 50)
            change = "UPDATE bank.account SET balance = balance"
            cursor.execute(
                f"BEGIN; {change} - {amount} WHERE id = {giver}; "
                f"{change} + {amount} WHERE id = {receiver}; "
                "INSERT INTO bank.transfer (giver, receiver, amount) "
                f"VALUES ({giver}, {receiver}, {amount}); "
                + ("ROLLBACK" if chance.random() < 0.2 else "COMMIT")
            )
            while cursor.nextset():
                pass
            done += 1
            due = max(due + pause, time.monotonic() - 1.0)
            over.wait(max(due - time.monotonic(), 0.0))
    return done


def main() -> None:
    """Several of them, until a line comes."""
    port, sessions, pause = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    password, over, done = sys.stdin.readline().rstrip("\n"), threading.Event(), list[int]()

    def run(seed: int) -> None:
        done.append(move(port, password, seed, pause, over))

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(sessions)]
    for thread in threads:
        thread.start()
    print("begun", flush=True)
    sys.stdin.readline()
    over.set()
    for thread in threads:
        thread.join()
    print(sum(done))


if __name__ == "__main__":
    main()
