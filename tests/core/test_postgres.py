"""The same laws on a real PostgreSQL server."""

from __future__ import annotations

import os

import psycopg
import pytest
from sqlalchemy import make_url, text

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


def test_a_charge_survives_the_crash_of_a_server_that_acknowledges_too_early(
    cluster: Cluster, postgres_urls: Urls
) -> None:
    url = postgres_urls()
    database = make_url(url).database
    cluster.sql(f"ALTER DATABASE {database} SET synchronous_commit = off")
    ledger = Ledger.create(url, Budget(epsilon=1.0))
    with psycopg.connect(host=str(cluster.folder), user=OWNER, dbname=database) as connection:
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("off",)
    with ledger._engine.connect() as ours:
        assert ours.execute(text("SHOW synchronous_commit")).one() == ("on",)
    for i in range(2):
        answer = ledger.spend(str(i), PermuteAndFlip(0.125), {}, lambda: os.urandom(8))
        cluster.crash()
        cluster.start()
        assert ledger.stored(str(i)) == answer
        assert ledger.spent == 0.125 * (i + 1)
    cluster.sql(f"ALTER DATABASE {database} RESET synchronous_commit")
