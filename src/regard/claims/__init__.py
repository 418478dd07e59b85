"""Named claims about attention, each decided from scratch by at least two independent methods."""

from regard.claims.claim import Claim, ClaimVerdict, NearMiss, Parameter, Trial

__all__ = ["Claim", "ClaimVerdict", "NearMiss", "Parameter", "Trial", "all_claims"]


def all_claims() -> dict[str, Claim]:
    """Every claim of the catalog by id, sorted by section and id."""
    from regard.claims import catalog
    from regard.core.catalog import discover

    claims = [module.CLAIM for module in discover(catalog).values()]
    return {claim.id: claim for claim in sorted(claims, key=lambda claim: (claim.section, claim.id))}
