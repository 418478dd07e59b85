"""Named claims about attention: each is decided from scratch, by at least two independent routes."""

from regard.claims.claim import Claim, Rival, Trial
from regard.claims.parameters import Parameter

__all__ = ["Claim", "Parameter", "Rival", "Trial", "all_claims"]


def all_claims() -> dict[str, Claim]:
    """Every claim of the catalogue by its id, in the catalogue's order (section, then id)."""
    from regard.claims import catalog as catalogue
    from regard.core.catalog import discover

    claims = [module.CLAIM for module in discover(catalogue).values()]
    return {claim.id: claim for claim in sorted(claims, key=lambda claim: (claim.section, claim.id))}
