// Light or dark: the system's choice until the reader makes another. Paper is always light, by the style sheet.
const night = matchMedia("(prefers-color-scheme: dark)");

function startTheme() {
  const button = byId("theme");
  const wear = (theme) => {
    document.documentElement.dataset.theme = theme;
    button.textContent = theme === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${theme === "dark" ? "light" : "dark"} colours`);
  };
  const follow = () => wear(night.matches ? "dark" : "light");
  button.addEventListener("click", () => {
    night.removeEventListener("change", follow);
    wear(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  });
  night.addEventListener("change", follow);
  follow();
}

// On paper there are no pages of cards: all that pass the filters are printed.
function startPrint() {
  const unpage = (unpaged) => view.unpaged !== unpaged && choose({ unpaged });
  addEventListener("beforeprint", () => unpage(true));
  addEventListener("afterprint", () => unpage(false));
  matchMedia("print").addEventListener("change", (event) => unpage(event.matches));
}
