// A page that is served while a run goes on asks for the next report, and shows it in place.
const PATIENCE = { least: 500, most: 15000 }; // milliseconds between two attempts

async function follow(show) {
  let [version, wait] = [0, PATIENCE.least];
  for (;;) {
    const answer = await ask(version);
    if (answer) {
      [version, wait] = [answer.version, PATIENCE.least];
      show(answer.report);
      if (isOver(answer.report)) return;
    } else if (answer === null) {
      tellLost();
      wait = Math.min(PATIENCE.most, 2 * wait);
    }
    await new Promise((go) => setTimeout(go, wait));
  }
}

// The next report; false where there is none yet, null where there is no answer.
async function ask(version) {
  try {
    const answer = await fetch(`report.json?after=${version}`, { cache: "no-store" });
    if (answer.status === 204 || answer.status === 304) return false;
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

function isOver({ state }) {
  return !state || state.done;
}

function tell(text, kind) {
  const box = byId("state");
  box.hidden = !text;
  box.className = `state ${kind}`;
  if (byId("status").textContent !== text) byId("status").textContent = text;
}

function tellLost() {
  tell("The connection is lost: the run has ended or was stopped. Here is what it last said.", "lost");
  byId("progress").hidden = true;
}

function tellState(state, live) {
  const over = !state || state.done;
  const bar = byId("progress");
  bar.hidden = over || !isNumber(state.share);
  if (!bar.hidden) bar.value = state.share;
  if (state && state.stopped) return tell(`Stopped: ${state.stopped}`, "over");
  if (over) return tell(live ? `The run is over. ${(state && state.note) || "This is its result."}` : "", "over");
  return tell(running(state), "running");
}

function running({ pass, phase, phases, rows, share, note }) {
  if (pass === null) return note || "Waiting";
  const step = phases > 1 ? ` (${count(phase)} of ${count(phases)})` : "";
  const parts = [
    `Running: ${pass}${step}`,
    isNumber(rows) && plural(rows, "row"),
    isNumber(share) && percent(share),
    note,
  ];
  return parts.filter(Boolean).join(", ");
}
