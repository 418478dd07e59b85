(() => {
  const claims = [...document.querySelectorAll(".claim")];
  const search = document.getElementById("search");
  const nothing = document.querySelector(".nothing");
  const words = new Map(claims.map((claim) => [claim, claim.textContent.toLowerCase()]));

  // Every word of the search must occur somewhere in the card.
  const apply = () => {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const claim of claims) claim.hidden = !wanted.every((word) => words.get(claim).includes(word));
    nothing.hidden = claims.some((claim) => getComputedStyle(claim).display !== "none");
  };
  search?.addEventListener("input", apply);
  for (const choice of document.querySelectorAll(".filter [type=radio]")) choice.addEventListener("change", apply);

  // A link opens its claim and leads to it even if the claim is filtered out.
  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target?.classList.contains("claim")) return;
    target.querySelector(".argument").open = true;
    if (getComputedStyle(target).display !== "none") return;
    search.value = "";
    document.getElementById("show-all").checked = true;
    apply();
    target.scrollIntoView();
  };
  addEventListener("hashchange", follow);
  follow();

  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll(".claim details:not([open])")];
    for (const part of folded) part.open = true;
  });
  addEventListener("afterprint", () => { for (const part of folded) part.open = false; });
  if (matchMedia("(max-width: 60rem)").matches) document.querySelector(".contents")?.removeAttribute("open");
})();
