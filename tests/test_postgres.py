"""The same laws on a real PostgreSQL server."""

from __future__ import annotations

import psycopg
import pytest

from databases import OWNER, Cluster, Urls
from laws.storage import LedgerLaws, StudyLaws

from tacit import Budget, Ledger
from tacit.core.events import PermuteAndFlip

pytest_plugins = ["databases"]


class TestLedgerOnPostgres(LedgerLaws):
    @pytest.fixture
    def urls(self, postgres_urls: Urls) -> Urls:
        return postgres_urls


class TestStudyOnPostgres(StudyLaws):
    @pytest.fixture
    def urls(self, postgres_urls: Urls) -> Urls:
        return postgres_urls


def test_a_charge_survives_a_crash_of_a_server_that_acknowledges_too_early(
    cluster: Cluster, postgres_urls: Urls
) -> None:
    url = postgres_urls()
    name = url.split("/")[3].split("?")[0]
    cluster.sql(f"ALTER DATABASE {name} SET synchronous_commit = off")
    ledger = Ledger.create(url, Budget(epsilon=1.0))
    answer = ledger.spend("before the crash", PermuteAndFlip(0.5), {}, lambda: b"answer")
    with psycopg.connect(host=str(cluster.folder), user=OWNER, dbname=name) as connection:
        connection.execute("CREATE TABLE acknowledged_too_early (number integer)")
    cluster.crash()
    cluster.start()
    with psycopg.connect(host=str(cluster.folder), user=OWNER, dbname=name) as connection:
        found = connection.execute("SELECT to_regclass('acknowledged_too_early')").fetchone()
    assert found == (None,)  # the server does forget what others committed, so that this test could fail
    again = Ledger.open(url)
    assert again.stored("before the crash") == answer
    assert again.spent == 0.5
    cluster.sql(f"ALTER DATABASE {name} RESET synchronous_commit")
