// What makes the page handier: zooming, dragging, a filter of layers, and one layer lit
// wherever it stands. The page says everything without it.
"use strict";

document.documentElement.classList.add("js");

function make(tag, properties, parent) {
  const element = Object.assign(document.createElement(tag), properties);
  parent.append(element);
  return element;
}

function toolsBefore(element) {
  const tools = document.createElement("div");
  tools.className = "tools";
  element.before(tools);
  return tools;
}

// Enlarges about the middle of what is seen.
function addZoom(scroller, before, most, apply) {
  let zoom = 1;
  const tools = toolsBefore(before);
  const set = (wanted) => {
    const old = zoom;
    zoom = Math.min(most, Math.max(1 / 8, wanted));
    const x = (scroller.scrollLeft + scroller.clientWidth / 2) * zoom / old;
    const y = (scroller.scrollTop + scroller.clientHeight / 2) * zoom / old;
    apply(zoom);
    scroller.scrollLeft = x - scroller.clientWidth / 2;
    scroller.scrollTop = y - scroller.clientHeight / 2;
  };
  make("button", {type: "button", textContent: "smaller", onclick: () => set(zoom / 1.5)}, tools);
  make("button", {type: "button", textContent: "larger", onclick: () => set(zoom * 1.5)}, tools);
  make("button", {type: "button", textContent: "as it was", onclick: () => set(1)}, tools);
  scroller.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    set(zoom * (event.deltaY > 0 ? 1 / 1.2 : 1.2));
  }, {passive: false});
}

// Moves the content with the pointer. A drag is no click.
function addDragging(scroller) {
  let start = null;
  let moved = false;
  scroller.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    start = {x: event.clientX + scroller.scrollLeft, y: event.clientY + scroller.scrollTop};
    moved = false;
  });
  addEventListener("pointermove", (event) => {
    if (!start) return;
    const x = start.x - event.clientX, y = start.y - event.clientY;
    moved ||= Math.hypot(x - scroller.scrollLeft, y - scroller.scrollTop) > 4;
    if (!moved) return;
    scroller.classList.add("dragged");
    scroller.scrollLeft = x;
    scroller.scrollTop = y;
  });
  addEventListener("pointerup", () => {
    start = null;
    scroller.classList.remove("dragged");
  });
  scroller.addEventListener("dragstart", (event) => event.preventDefault());
  scroller.addEventListener("click", (event) => {
    if (moved) event.preventDefault();
  }, true);
}

const network = document.getElementById("network");
if (network) {
  const scroller = network.parentElement;
  const box = network.viewBox.baseVal;
  addZoom(scroller, scroller, 4, (zoom) => {
    network.setAttribute("width", box.width * zoom);
    network.setAttribute("height", box.height * zoom);
  });
  addDragging(scroller);
  scroller.scrollLeft = (scroller.scrollWidth - scroller.clientWidth) / 2;
}

const timeline = document.getElementById("timeline");
if (timeline) {
  const scroller = timeline.parentElement;
  addZoom(scroller, scroller.parentElement, 64,
          (zoom) => timeline.style.setProperty("--zoom", Math.max(1, zoom)));
  addDragging(scroller);
}

const layers = document.getElementById("layers");
if (layers) {
  const input = make("input", {type: "search", placeholder: "part of a name, or of a cut: c=4"},
                     toolsBefore(layers.parentElement));
  input.setAttribute("aria-label", "Layers to show");
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    for (const row of layers.tBodies[0].rows)
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
}

// Whatever belongs to a layer, by the layer's number.
const parts = new Map();
function belongs(layer, element) {
  if (!layer) return;
  if (!parts.has(layer)) parts.set(layer, []);
  parts.get(layer).push(element);
}
for (const element of document.querySelectorAll("[data-layer]"))
  belongs(element.dataset.layer, element);
for (const edge of document.querySelectorAll("[data-from]")) {
  belongs(edge.dataset.from, edge);
  belongs(edge.dataset.to, edge);
}
let lit = [];
addEventListener("pointerover", (event) => {
  const element = event.target.closest("[data-layer]");
  const next = element ? parts.get(element.dataset.layer) || [] : [];
  if (next === lit) return;
  for (const each of lit) each.classList.remove("lit");
  for (const each of next) each.classList.add("lit");
  lit = next;
});
