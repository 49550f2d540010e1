
// The browser of single responses. Everything that comes from results goes in as text.
const NAMES = {
  right: ["✓", "right", "good"], wrong: ["✗", "wrong", "bad"], abstained: ["○", "abstained", "warn"],
  failed: ["!", "failed", "bad"], unscored: ["·", "not scored", "muted"],
};
const CELL_NAMES = {config: "Configuration", variant: "Variant", length: "Length", band: "Band", density_band: "Density", structure: "Structure", arm: "Arm"};
const AT_ONCE = 100;

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

function startBrowser() {
  const {responses, questions, streams} = JSON.parse(document.getElementById("response-data").textContent);
  if (!responses.length) return;
  const list = document.getElementById("list"), more = document.getElementById("more");
  const view = document.getElementById("response"), found = document.getElementById("found");
  const filters = document.getElementById("filters");
  let shown = [], listed = 0, current = null;

  const cellText = response => Object.entries(response.cell).map(([name, value]) =>
    name === "length" ? `L ${value}` : name === "arm" ? `arm ${value}` : String(value)).join(" · ");
  const address = response => `response=${encodeURIComponent(response.run)}/${encodeURIComponent(response.id)}`;

  function choices(label, name, of, text = String) {
    const values = [...new Set(responses.map(of).filter(value => value !== undefined && value !== null))];
    if (values.length < 2) return;
    values.sort((a, b) => typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", {numeric: true}));
    const select = make("select", {name}, make("option", {value: ""}, "all"), ...values.map(value => make("option", {value}, text(value))));
    filters.append(make("label", {}, label, select));
  }
  choices("Verdict", "verdict", one => one.verdict, value => NAMES[value][1]);
  choices("Model", "model", one => one.model);
  choices("Run", "run", one => one.run);
  for (const name in CELL_NAMES) choices(CELL_NAMES[name], `cell-${name}`, one => one.cell[name]);
  const search = make("input", {type: "search", name: "text", autocomplete: "off", spellcheck: "false"});
  filters.append(make("label", {}, "Question or reply holds", search));

  function matches(response, wanted) {
    for (const [name, value] of wanted) {
      if (!value) continue;
      if (name === "text") {
        const text = [response.id, ...response.reply.map(piece => piece[0]), response.error ?? ""].join("\n").toLowerCase();
        if (!text.includes(value.toLowerCase())) return false;
      } else if (String(name.startsWith("cell-") ? response.cell[name.slice(5)] : response[name]) !== value) return false;
    }
    return true;
  }

  function apply() {
    const wanted = [...new FormData(filters)];
    shown = responses.filter(response => matches(response, wanted));
    list.replaceChildren();
    listed = 0;
    extend();
    found.textContent = shown.length === responses.length ? `All ${shown.length} responses that are here.`
      : `${shown.length} of the ${responses.length} responses that are here.`;
    if (!shown.includes(current)) choose(shown[0] ?? null);
    else mark();
  }

  function extend() {
    const next = shown.slice(listed, listed + AT_ONCE);
    listed += next.length;
    list.append(...next.map(response => {
      const [sign, word, kind] = NAMES[response.verdict];
      const button = make("button", {type: "button", tabindex: "-1"},
        make("span", {class: `mark ${kind}`, "aria-hidden": "true"}, sign),
        make("span", {}, make("span", {class: "hidden"}, `${word}: `), response.id, make("br"), make("small", {}, `${response.run} · ${cellText(response)}`)));
      button.addEventListener("click", () => choose(response));
      return make("li", {}, button);
    }));
    more.hidden = listed >= shown.length;
  }
  const buttons = () => [...list.querySelectorAll("button")];

  function mark(focus = false) {
    const at = shown.indexOf(current);
    while (at >= listed) extend();
    buttons().forEach((button, i) => {
      button.tabIndex = i === Math.max(at, 0) ? 0 : -1;
      if (i === at) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    });
    const button = buttons()[at];
    if (!button) return;
    const box = list.parentElement.getBoundingClientRect(), mine = button.getBoundingClientRect();
    if (mine.top < box.top) list.parentElement.scrollTop -= box.top - mine.top;
    if (mine.bottom > box.bottom) list.parentElement.scrollTop += mine.bottom - box.bottom;
    if (focus) button.focus({preventScroll: true});
  }

  function choose(response, {focus = false, address: remember = true} = {}) {
    const first = current === null;
    current = response;
    view.replaceChildren(...(response ? describe(response) : [make("p", {class: "muted"}, "No response is like that. Choose fewer conditions.")]));
    mark(focus);
    if (response && remember && !first) history.replaceState(null, "", `#${address(response)}`);
  }

  function step(by, focus = true) {
    const at = shown.indexOf(current) + by;
    if (at >= 0 && at < shown.length) choose(shown[at], {focus});
  }
  list.addEventListener("keydown", event => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10};
    const at = shown.indexOf(current);
    if (event.key in steps) choose(shown[Math.min(shown.length - 1, Math.max(0, at + steps[event.key]))], {focus: true});
    else if (event.key === "Home") choose(shown[0], {focus: true});
    else if (event.key === "End") choose(shown.at(-1), {focus: true});
    else return;
    event.preventDefault();
  });
  more.addEventListener("click", () => {
    const next = listed;
    extend();
    mark();
    buttons()[next]?.focus();
  });
  filters.addEventListener("input", apply);
  filters.addEventListener("submit", event => event.preventDefault());

  function describe(response) {
    const [sign, word, kind] = NAMES[response.verdict];
    const question = questions[response.question];
    const at = shown.indexOf(response);
    const before = make("button", {type: "button", disabled: at <= 0}, "← Previous");
    const after = make("button", {type: "button", disabled: at < 0 || at >= shown.length - 1}, "Next →");
    before.addEventListener("click", () => { step(-1, false); view.querySelector(".steps button")?.focus(); });
    after.addEventListener("click", () => { step(1, false); view.querySelectorAll(".steps button")[1]?.focus(); });
    const said = response.prediction === null ? "" : response.abstention ? `declined (${response.abstention})` : `said ${response.prediction}`;
    const parts = [
      make("div", {class: "steps"},
        make("span", {}, make("span", {class: `badge verdict ${kind}`}, `${sign} ${word}`), ` ${said}${response.answer ? `${said ? "; " : ""}the answer is ${response.answer}` : ""}`),
        make("span", {}, before, " ", after)),
      make("h3", {}, response.id),
      make("p", {class: "muted"}, `${response.run} · ${response.model} · ${cellText(response)}`),
    ];
    parts.push(make("h4", {}, "Question"), ...(question ? ask(question, response.id) : [make("p", {class: "muted"}, "The question itself is not here: see “How these were chosen”.")]));
    parts.push(make("h4", {}, "Reply"));
    if (response.error) parts.push(make("p", {}, "The request failed: "), make("pre", {class: "reply", tabindex: "0"}, response.error));
    else if (response.reply.length) {
      parts.push(make("pre", {class: "reply", tabindex: "0"}, ...response.reply.map(([text, marked]) => marked ? make("mark", {class: "committed", title: "what the reply commits to"}, text) : text)));
      if (!response.reply.some(piece => piece[1])) parts.push(make("p", {class: "muted"}, "It commits to nothing: there is no marker in it."));
    } else parts.push(make("p", {class: "muted"}, "The reply is empty."));
    if (response.reasoning) parts.push(make("details", {}, make("summary", {}, "Reasoning"), make("pre", {class: "reply", tabindex: "0"}, response.reasoning)));
    const facts = response.facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]);
    parts.push(make("h4", {}, "More of the response"), make("dl", {class: "facts"}, ...facts));
    const others = responses.filter(one => one !== response && one.id === response.id && one.question === response.question);
    if (others.length) {
      parts.push(make("h4", {}, "The same question, other runs"), make("ul", {class: "others"}, ...others.map(other => {
        const [mark, name, tone] = NAMES[other.verdict];
        const button = make("button", {type: "button"}, make("span", {class: `mark ${tone}`, "aria-hidden": "true"}, mark), ` ${other.run}`, make("span", {class: "hidden"}, `: ${name}`));
        button.addEventListener("click", () => { choose(other); view.focus(); });
        return make("li", {}, button);
      })));
    }
    return parts;
  }

  function ask(question, id) {
    const parts = [make("p", {}, question.asked)];
    if (question.because) parts.push(make("p", {}, make("strong", {}, `Answer: ${question.answer}.`), ` ${question.because}`));
    if (question.picture) parts.push(make("img", {src: question.picture, alt: `What ${id} shows, frame by frame. ${question.because}`}));
    if (question.stream !== undefined) {
      const [from, to] = question.marked;
      parts.push(places("Candidate", question.candidate.split(" "), i => question.wrong.includes(i) ? "wrong" : null, question.wrong.length ? "on a wrong belt" : ""));
      parts.push(places("Stream", streams[question.stream].split(" "), i => i >= from && i < to ? (question.matches ? "match" : "near") : null, question.matches ? "the match" : "what it is like"));
    }
    return parts;
  }

  function places(word, symbols, kindOf, what) {
    const line = make("div", {class: "places", tabindex: "0", role: "group", "aria-label": `${word}, ${symbols.length} places`});
    for (let i = 0; i < symbols.length;) {
      const kind = kindOf(i);
      let j = i;
      while (j < symbols.length && kindOf(j) === kind) j++;
      const text = symbols.slice(i, j).join(" ");
      line.append(kind ? make("mark", {class: kind}, text) : text, " ");
      i = j;
    }
    const many = word === "Stream" && symbols.length > 400;
    const title = `${word} (${symbols.length})`;
    const element = many && line.querySelector("mark") === null
      ? make("details", {}, make("summary", {}, title), line)
      : make("div", {}, make("p", {class: "muted"}, line.querySelector("mark") ? `${title}; marked: ${what}` : title), line);
    return element;
  }

  document.getElementById("browser").hidden = false;
  apply();
  const open = () => {
    const wanted = responses.find(response => location.hash === `#${address(response)}`);
    if (!wanted) return;
    filters.reset();
    apply();
    choose(wanted, {address: false});
    // marks far down a long stream are what one wants to see
    document.getElementById("responses").scrollIntoView();
  };
  addEventListener("hashchange", open);
  open();
}
