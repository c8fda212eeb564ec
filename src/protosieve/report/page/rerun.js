// Everything needed to run it once more.
function rerunPart({ rerun }) {
  const { command, files, details, parameters } = rerun;
  const set = Object.entries(parameters || {});
  if (!command && !files.length && !details.length && !set.length) return null;
  return [
    title("rerun", "Run it again", null),
    command && commandBox(command),
    el(
      "div",
      { class: "rerun" },
      details.length > 0 && pairsTable("Run", details),
      set.length > 0 &&
        pairsTable(
          "Parameters",
          set.map(([name, value]) => [name, plain(value)]),
        ),
      files.length > 0 &&
        pairsTable(
          `Files (${count(files.length)})`,
          files.map(({ name, size }) => [name, bytes(size)]),
        ),
    ),
  ];
}

function pairsTable(caption, entries) {
  return table(
    caption,
    ["Name", "Value"],
    entries.map(([name, value]) => [words(name), words(value)]),
    false,
  );
}

function plain(value) {
  if (value === null || value === undefined) return NONE;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function commandBox(command) {
  const box = el("code", { dir: "ltr", id: "command" }, command);
  const button = el("button", { type: "button", id: "copy", class: "quiet" }, "Copy");
  button.addEventListener("click", async () => {
    const done = await copied(command, box);
    button.textContent = done ? "Copied" : "Selected";
    say(done ? "The command is copied" : "The command is selected: copy it with your keyboard");
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  return el(
    "div",
    { class: "command" },
    el("pre", { tabindex: 0, role: "region", "aria-label": "Command" }, box),
    button,
  );
}

// Where a browser does not let pages copy, the command is at least selected.
async function copied(command, box) {
  try {
    await navigator.clipboard.writeText(command);
    return true;
  } catch {
    getSelection().selectAllChildren(box);
    return false;
  }
}
