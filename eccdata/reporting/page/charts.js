"use strict";

// The charts. Their colours are the page's custom properties, so that they follow the scheme and the printer by
// themselves; as pictures of their own they are drawn anew in the colours of light paper.
const page = JSON.parse(document.getElementById("page-data").textContent);

// A table's rows; texts of a column are told once.
const unpacked = new Map();
function tableOf(name) {
  if (!unpacked.has(name)) {
    const columns = Object.keys(page.tables[name]);
    const values = Object.values(page.tables[name]).map(column => Array.isArray(column) ? column : column.at.map(place => column.of[place]));
    unpacked.set(name, {columns, rows: values[0].map((_, row) => values.map(column => column[row]))});
  }
  return unpacked.get(name);
}

const objects = ({columns, rows}) => rows.map(row => Object.fromEntries(columns.map((name, i) => [name, row[i]])));

const wholeSpec = (chart, columns) => {
  const spec = structuredClone(chart.spec);
  if (columns) spec.columns = columns;
  return {$schema: "https://vega.github.io/schema/vega-lite/v6.json", ...spec, data: {name: "rows"}, datasets: {rows: objects(tableOf(chart.data))}};
};

// `ast`: expressions are interpreted, for the page forbids itself to run text as code. Vega-Lite warns, past every
// setting of Vega-Embed, of much that is meant as it is written; what is wrong is thrown.
async function embed(element, spec, config) {
  const {warn} = console;
  console.warn = () => {};
  try {
    return await vegaEmbed(element, spec, {renderer: "svg", ast: true, actions: false, config});
  } finally {
    console.warn = warn;
  }
}

const PANEL_MARGIN = 70;

// As many panels side by side as there is room for.
const fitting = (chart, width) => {
  const wanted = chart.spec.columns, panel = chart.spec.spec?.width;
  return wanted && typeof panel === "number" ? Math.max(1, Math.min(wanted, Math.floor(width / (panel + PANEL_MARGIN)))) : undefined;
};

const drawn = new Map();

async function draw(chart) {
  const element = document.getElementById(`${chart.id}-chart`);
  const columns = fitting(chart, element.clientWidth);
  if (drawn.has(chart.id) && drawn.get(chart.id).columns === columns) return;
  drawn.get(chart.id)?.result?.finalize();
  drawn.set(chart.id, {columns});
  try {
    const result = await embed(element, wholeSpec(chart, columns), page.config);
    drawn.set(chart.id, {columns, result});
    const svg = element.querySelector("svg");
    // Below two thirds of its size nobody can read it: from there on it scrolls.
    svg.style.minWidth = `${Math.min(svg.width.baseVal.value * 2 / 3, 900)}px`;
    svg.setAttribute("aria-hidden", "true");
  } catch (error) {
    element.className = "chart-error";
    element.removeAttribute("role");
    element.textContent = `This chart cannot be drawn: ${error.message}`;
    console.error(error);
  }
}

async function drawAll() {
  for (const chart of page.charts) {
    await draw(chart);
    await new Promise(resolve => setTimeout(resolve)); // so that what is pressed meanwhile is heard
  }
  document.documentElement.dataset.charts = "drawn";
}

async function savePicture(id, form) {
  const chart = page.charts.find(one => one.id === id);
  const paper = document.createElement("div");
  paper.style.cssText = "position:absolute;left:-9999px;top:0";
  document.body.append(paper);
  try {
    const {view, finalize} = await embed(paper, wholeSpec(chart, chart.spec.columns), page.print);
    save(await view.toImageURL(form, form === "png" ? 2 : 1), `${chart.name}.${form}`);
    finalize();
  } finally {
    paper.remove();
  }
}

function save(url, name) {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
}
