"""Laws as inheritable tests: a new domain or kernel supplies one fixture and inherits every law.

class TestMyDomain(DomainLaws):
    @pytest.fixture
    def domain(self) -> Domain:
        return MyDomain(...)
"""

from laws.domains import DomainLaws
from laws.kernels import KernelLaws

__all__ = ["DomainLaws", "KernelLaws"]
