"""The same laws on a real PostgreSQL server."""

from __future__ import annotations

import pytest

from databases import Urls
from laws.storage import LedgerLaws, StudyLaws

pytest_plugins = ["databases"]


class TestLedgerOnPostgres(LedgerLaws):
    @pytest.fixture
    def urls(self, postgres_urls: Urls) -> Urls:
        return postgres_urls


class TestStudyOnPostgres(StudyLaws):
    @pytest.fixture
    def urls(self, postgres_urls: Urls) -> Urls:
        return postgres_urls
