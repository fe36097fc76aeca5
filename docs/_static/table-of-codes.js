// The table of codes: rows of codes.json in a DataTable, filtered by d, K, status and files.
import DataTable, { set_or_remove_dark_class } from "./itables/dt_bundle.js";

const folder = "table-of-codes/";
const place = document.getElementById("codes");
const rows = await (await fetch(`${folder}codes.json`)).json();

const escaped = (text) => {
  const node = document.createElement("span");
  node.textContent = text;
  return node.innerHTML;
};
const count = (number) => number.toLocaleString("en");
const link = (file, text) => (file ? `<a href="${folder}${file}" download>${text}</a>` : "");
const when = (display) => (value, type, row) => (type === "display" ? display(value, row) : value);

// Lower ends are rounded down and upper ends up: what is shown is proved too. Doubles are off by
// less than NOISE units of the last decimal.
const [DECIMALS, NOISE] = [1e9, 1e-4];
const down = when((value) => (Math.floor(value * DECIMALS + NOISE) / DECIMALS).toFixed(9));
const up = when((value) => (Math.ceil(value * DECIMALS - NOISE) / DECIMALS).toFixed(9));

const details = (row) =>
  [
    ["largest cosine", row.max_cosine],
    ["minimal angle", `${row.min_angle_deg.toFixed(8)} degrees`],
    ["rho*, lower end", row.lower],
    ["rho*, upper end", row.upper],
    ["code", row.code.includes(row.date ?? "") ? row.code : `${row.code} (${row.date})`],
    ["optimality", row.optimality],
    ["upper end by", `${row.upper_by}: ${row.upper_source}`],
    ["rattlers, contacts", row.contacts && `${row.rattlers ?? "-"}, ${row.contacts}`],
    ["build it", row.build],
    ["claimed, not vetted", row.claimed_by && `${row.claimed_cosine}: ${row.claimed_by}`],
  ]
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `<dt>${name}</dt><dd>${escaped(value)}</dd>`)
    .join("") +
  [
    [row.coordinates, "coordinates"],
    [row.certificate, "certificate of an upper end"],
  ]
    .filter(([file]) => file)
    .map(([file, name]) => `<dt>${name}</dt><dd>${link(file, file.split("/")[1])}</dd>`)
    .join("");

const table = new DataTable(place, {
  data: rows,
  autoWidth: false,
  pageLength: 25,
  lengthMenu: [25, 100, 500],
  order: [
    [0, "asc"],
    [1, "asc"],
  ],
  layout: { topStart: "info", topEnd: null, bottomStart: "pageLength", bottomEnd: "paging" },
  language: { info: "_TOTAL_ pairs", infoEmpty: "No pair", infoFiltered: "of _MAX_" },
  columns: [
    { data: "d", title: "d", render: when(count) },
    { data: "K", title: "K", render: when(count) },
    { data: "lower", title: "rho* ≥", render: down },
    { data: "upper", title: "rho* ≤", render: up },
    {
      data: "gap",
      title: "gap",
      render: when((gap) => (gap ? `${(100 * gap).toPrecision(2)} %` : "0")),
    },
    { data: "status", title: "status" },
    {
      data: "max_cosine",
      title: "largest cosine",
      className: "wide",
      render: (value, type, row) =>
        type === "display" ? escaped(value) : type === "filter" ? value : 1 - row.lower,
    },
    {
      data: null,
      title: "files",
      className: "wide",
      orderable: false,
      render: (_, type, row) =>
        type === "display"
          ? `${link(row.coordinates, "points")} ${link(row.certificate, "certificate")}`
          : `${row.code} ${row.optimality ?? ""} ${row.claimed_by ?? ""}`,
    },
  ],
});

place.addEventListener("click", (event) => {
  const line = event.target.closest("tbody tr");
  if (!line || event.target.closest("a")) return;
  const row = table.row(line);
  if (!row.data()) return;
  if (row.child.isShown()) row.child.hide();
  else row.child(`<dl>${details(row.data())}</dl>`, "details").show();
});

// "3, 5..8" holds 3 and 5 to 8; an empty field holds every number.
const range = (text) => {
  const parts = text.split(",").filter((part) => part.trim());
  const ends = parts.map((part) => part.split(/\.\.|-/).map(Number));
  return (number) =>
    !ends.length || ends.some(([low, high]) => low <= number && number <= (high ?? low));
};
const field = (name) => document.getElementById(`codes-${name}`);
const status = field("status");
for (const name of [...new Set(rows.map((row) => row.status))].sort()) {
  status.add(new Option(name, name));
}
const filter = () => {
  const [inD, inK] = [range(field("d").value), range(field("K").value)];
  const files = field("files").value;
  table.search(field("text").value);
  table.search.fixed("fields", (_text, row) =>
      inD(row.d) && inK(row.K) && (!status.value || row.status === status.value) &&
      (!files || row[files] !== null),
  );
  table.draw();
};
for (const name of ["d", "K", "status", "files", "text"]) {
  field(name).addEventListener("input", filter);
}
filter();

set_or_remove_dark_class();
new MutationObserver(set_or_remove_dark_class).observe(document.documentElement, {
  attributeFilter: ["data-theme"],
});
