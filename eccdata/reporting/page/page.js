
// The page as a whole.
function startTheme() {
  const theme = document.getElementById("theme"), root = document.documentElement;
  const use = value => { if (value === "auto") delete root.dataset.theme; else root.dataset.theme = value; };
  let kept = null;
  try { kept = localStorage.getItem("eccdata-theme"); } catch { /* a file may have no storage */ }
  const chosen = theme.querySelector(`input[value="${["light", "dark"].includes(kept) ? kept : "auto"}"]`);
  chosen.checked = true;
  use(chosen.value);
  theme.addEventListener("change", event => {
    use(event.target.value);
    try { localStorage.setItem("eccdata-theme", event.target.value); } catch { /* then it is for now */ }
  });
  theme.hidden = false;
}

// A link to what is folded away opens it.
function openTarget() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let element = target; element; element = element.parentElement) if (element.tagName === "DETAILS") element.open = true;
  if (target) target.scrollIntoView();
}

startTheme();
document.querySelectorAll("table.sortable").forEach(sortable);
document.querySelectorAll("button[data-csv]").forEach(button => {
  button.hidden = !(button.dataset.csv in page.tables);
  button.addEventListener("click", () => saveTable(button.dataset.csv));
});
document.querySelectorAll("button[data-picture]").forEach(button => {
  button.hidden = false;
  button.addEventListener("click", () => savePicture(button.dataset.picture, button.dataset.form));
});
startBrowser();
addEventListener("hashchange", openTarget);
drawAll().then(openTarget);

let waiting;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(drawAll, 200);
});

// On paper nothing can be unfolded: short tables of figures are, long ones, cards and queries are not.
const folded = () => document.querySelectorAll("details.few:not([open]), details.about:not([open])");
let opened = [];
addEventListener("beforeprint", () => { opened = [...folded()]; opened.forEach(details => { details.open = true; }); });
addEventListener("afterprint", () => { opened.forEach(details => { details.open = false; }); });
