// The page of a project. What it shows is read by `load`, and by nothing else: behind what this user does, behind each event that the
// server tells of, and wherever it says that something may have been missed.

const at = (id) => document.getElementById(id);
const order = ["todo", "doing", "done"];
const state = { me: null, project: null, members: new Map(), issues: [], open: null, source: null, loading: null, stale: false };

async function ask(method, path, body) {
  const json = body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(path, { method, ...json });
  const text = await response.text();
  const answer = text ? JSON.parse(text) : null;
  if (!response.ok) throw Object.assign(new Error(answer?.error ?? response.statusText), { status: response.status });
  return answer;
}

const of = (rest) => `/api/projects/${state.project.id}${rest}`;

function say(words) {
  at("said").textContent = words;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { at("said").textContent = ""; }, 4000);
}

// Does something, and shows why it could not be done.
async function attempt(work) {
  try {
    await work();
  } catch (error) {
    if (error.status === 401) return welcome();
    say(error.status ? error.message : "The server does not answer.");
  }
}

// ---- signing in and out

function welcome() {
  state.source?.close();
  state.me = state.project = null;
  for (const id of ["work", "bell", "leave", "search"]) at(id).hidden = true;
  at("welcome").hidden = false;
  at("project").textContent = "";
  live("off", "signed out");
  at("token").focus();
}

async function enter() {
  state.me = await ask("GET", "/api/me");
  [state.project] = await ask("GET", "/api/projects");
  at("welcome").hidden = true;
  at("leave").hidden = false;
  at("leave").textContent = `Sign out ${state.me.name}`;
  if (!state.project) return live("off", "you belong to no project yet");
  at("project").textContent = state.project.title;
  document.title = `${state.project.title} - SoloPM`;
  for (const id of ["work", "bell", "search"]) at(id).hidden = false;
  listen();
  await load();
}

at("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  at("turned-away").textContent = "";
  try {
    await ask("POST", "/api/login", { token: at("token").value });
    at("token").value = "";
    await enter();
  } catch (error) {
    at("turned-away").textContent = error.status === 401 ? "This token opens nothing." : error.message;
  }
});

at("leave").addEventListener("click", () => attempt(async () => {
  await ask("POST", "/api/logout");
  welcome();
}));

// ---- what the server tells

function live(kind, words) {
  at("live").dataset.state = kind;
  at("live").textContent = words;
}

function listen() {
  const source = state.source = new EventSource(of("/live"));
  source.addEventListener("open", () => live("on", "live"));
  source.addEventListener("error", () => {
    live("lost", "reconnecting");
    // A browser gives up by itself when the answer was no stream: the server said no, or something between said so for it.
    if (source.readyState === EventSource.CLOSED && source === state.source) setTimeout(() => attempt(enter), 2000);
  });
  source.addEventListener("refetch", () => {
    document.body.dataset.refetches = Number(document.body.dataset.refetches ?? 0) + 1;
    refresh();
  });
  source.addEventListener("message", (event) => {
    const told = JSON.parse(event.data);
    if (told.payload.number) state.fresh = told.payload.number;
    refresh();
    // The jobs behind it take a moment.
    setTimeout(() => attempt(loadBadge), 400);
  });
}

// One reading at a time, and one more when something came meanwhile.
function refresh() {
  if (state.loading) {
    state.stale = true;
    return;
  }
  state.loading = attempt(load).finally(() => {
    state.loading = null;
    if (state.stale) {
      state.stale = false;
      refresh();
    }
  });
}

async function load() {
  const [issues, members, trail] = await Promise.all([
    ask("GET", of("/issues")), ask("GET", of("/members")), ask("GET", of("/audit")), loadBadge(),
  ]);
  state.issues = issues;
  state.members = new Map(members.map((member) => [member.id, member]));
  showBoard();
  showTrail(trail);
  if (state.open) await showComments();
}

async function loadBadge() {
  if (!state.me) return;
  const { unread } = await ask("GET", "/api/notifications");
  at("badge").hidden = unread === 0;
  at("badge").textContent = unread;
  at("bell").setAttribute("aria-label", unread === 0 ? "News" : `News, ${unread} unread`);
}

// Where nothing is heard for a while, something may still have happened: a digest, another project.
setInterval(() => { if (state.project) attempt(loadBadge); }, 30000);

// ---- the board

function showBoard() {
  const focused = document.activeElement?.closest(".card");
  const again = focused && [focused.dataset.issue, document.activeElement.className];
  for (const column of document.querySelectorAll(".column")) {
    const here = state.issues.filter((issue) => issue.status === column.dataset.status).sort((a, b) => a.rank - b.rank);
    column.querySelector(".count").textContent = here.length;
    column.querySelector(".cards").replaceChildren(...here.map(card));
  }
  if (again) document.querySelector(`.card[data-issue="${again[0]}"] .${again[1]}`)?.focus();
}

function card(issue) {
  const item = at("card").content.firstElementChild.cloneNode(true);
  const [part, place] = [(name) => item.querySelector(name), order.indexOf(issue.status)];
  item.dataset.issue = issue.number;
  if (state.fresh === issue.number) {
    item.classList.add("fresh");
    state.fresh = null;
  }
  part(".number").textContent = `#${issue.number}`;
  part(".title").textContent = issue.title;
  const who = state.members.get(issue.assignee_id);
  part(".who").textContent = who ? who.name.split(" ").map((word) => word[0]).join("") : "";
  part(".who").title = who ? who.name : "";
  for (const [name, step] of [[".back", -1], [".on", 1]]) {
    const next = order[place + step];
    part(name).disabled = !next;
    part(name).setAttribute("aria-label", `Move #${issue.number} to ${next}`);
    part(name).addEventListener("click", () => attempt(async () => {
      await ask("PUT", of(`/issues/${issue.number}/status`), { status: next });
      refresh();
    }));
  }
  part(".open").addEventListener("click", () => openIssue(issue));
  return item;
}

at("report").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    await ask("POST", of("/issues"), { title: at("title").value });
    at("title").value = "";
    refresh();
  });
});

// ---- one issue

function openIssue(issue) {
  state.open = issue.number;
  at("issue-name").textContent = `#${issue.number}`;
  at("edit-title").value = issue.title;
  at("edit-description").value = issue.description;
  const nobody = new Option("Nobody", "");
  at("edit-assignee").replaceChildren(nobody, ...[...state.members.values()].map((one) => new Option(one.name, one.id)));
  at("edit-assignee").value = issue.assignee_id ?? "";
  at("comments").replaceChildren();
  at("issue").showModal();
  attempt(showComments);
}

async function showComments() {
  const comments = await ask("GET", of(`/issues/${state.open}/comments`));
  at("comments").replaceChildren(...comments.map((comment) =>
    entry(comment.body, `${state.members.get(comment.author_id)?.name ?? "A service"}, ${when(comment.said_at)}`)));
}

at("edit").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    const [issue, assignee] = [of(`/issues/${state.open}`), at("edit-assignee").value];
    await ask("PUT", issue, { title: at("edit-title").value, description: at("edit-description").value });
    if (assignee) await ask("PUT", `${issue}/assignee`, { user: Number(assignee) });
    else await ask("DELETE", `${issue}/assignee`);
    at("issue").close();
    refresh();
  });
});

at("say").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    await ask("POST", of(`/issues/${state.open}/comments`), { body: at("body").value });
    at("body").value = "";
    await showComments();
  });
});

at("issue").addEventListener("close", () => { state.open = null; });
for (const button of document.querySelectorAll(".close")) {
  button.addEventListener("click", () => button.closest("dialog").close());
}

// ---- lists

function entry(words, small, unread) {
  const item = document.createElement("li");
  const line = document.createElement("small");
  line.textContent = small;
  item.append(words, line);
  if (unread) item.className = "unread";
  return item;
}

const when = (time) => new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });

function showTrail(trail) {
  at("trail").replaceChildren(...trail.map((row) => {
    const about = row.payload.number ? `#${row.payload.number} ${row.payload.issue_title}` : row.payload.project_title ?? "";
    const words = `${row.action_type.replaceAll(/[._]/g, " ")}: ${about}`;
    const item = entry(words, [row.actor ?? "somebody", when(row.occurred_at), ...changes(row.payload)].join(", "));
    item.dataset.event = row.event_id;
    item.dataset.action = row.action_type;
    return item;
  }));
}

// Short values only: `status: todo → doing`.
function changes({ changes }) {
  const shown = (value) => (value === null || value === "" ? "nothing" : String(value));
  const lines = Object.entries(changes ?? {}).map(([field, { prev, new: next }]) => `${field}: ${shown(prev)} \u2192 ${shown(next)}`);
  return lines.filter((line) => line.length < 80 && !line.includes("_id"));
}

function showList(name, entries, none) {
  at("list-name").textContent = name;
  at("entries").replaceChildren(...(entries.length ? entries : [entry(none, "")]));
  at("list").showModal();
}

at("bell").addEventListener("click", () => attempt(async () => {
  const { newest } = await ask("GET", "/api/notifications");
  showList("News", newest.map((one) => entry(one.headline, when(one.created_at), !one.read_at)), "Nothing yet.");
  if (newest.length) await ask("POST", "/api/notifications/read", { up_to: newest[0].id });
  await loadBadge();
}));

at("search").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    const hits = await ask("GET", `/api/search?words=${encodeURIComponent(at("words").value)}`);
    showList("Found", hits.map((hit) => entry(hit.title, hit.id)), "Nothing is found.");
  });
});

enter().catch(welcome);
