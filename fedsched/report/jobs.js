// The Gantt chart as a table: a page of jobs at a time on the screen, the first few hundred on paper.
const PAGE = 50;
const PRINTED = 300;
const jobTable = { page: 0 };

function jobRow(j) {
  const { shown, jobs } = gantt;
  const cells = [
    jobs.user[j] >= 0 ? String(jobs.user[j]) : "–", String(jobs.tasks[j]), placesOf(shown, j), duration(jobs.submit[j] * data.tick),
    duration(startOf(shown, j)), duration(Math.max(waitOf(shown, jobs, j), 0)), duration(finishOf(shown, j) - startOf(shown, j)), duration(jobs.estimate[j]),
  ];
  const show = make("button", { class: "link", type: "button" }, String(jobs.id[j]));
  show.addEventListener("click", () => {
    showJob(j, { zoom: true });
    byId("gantt").focus();
  });
  return make("tr", {}, make("th", { scope: "row" }, show), ...cells.map((text) => make("td", {}, text)));
}

function drawJobs() {
  const { shown } = gantt;
  if (!shown || (!byId("jobs").open && !printing())) return;
  const jobs = shown.order;
  const size = printing() ? PRINTED : PAGE;
  const last = Math.max(Math.ceil(jobs.length / size) - 1, 0);
  const page = printing() ? 0 : Math.min(jobTable.page, last);
  const some = jobs.slice(page * size, (page + 1) * size);
  byId("job-rows").replaceChildren(...some.map(jobRow));
  const range = `${(page * size + 1).toLocaleString("en")} to ${(page * size + some.length).toLocaleString("en")} of ${jobs.length.toLocaleString("en")}`;
  const largest = partly() ? `The largest of ${shown.thinned.jobs.toLocaleString("en")} jobs` : "Jobs";
  byId("jobs-caption").textContent = `${largest} of ${shown.entry.label} by start: ${range}`;
  byId("jobs-before").disabled = page === 0;
  byId("jobs-after").disabled = page === last;
  jobTable.page = printing() ? jobTable.page : page;
}

const partly = () => gantt.shown.thinned !== null && gantt.shown.order.length < gantt.shown.thinned.jobs;

function findJob() {
  const wanted = Number(byId("find").value);
  const j = gantt.jobs.id.indexOf(wanted);
  const found = byId("find").value !== "" && showJob(j, { zoom: true });
  byId("found").textContent = found || byId("find").value === "" ? "" : `no job ${byId("find").value} ${partly() ? "among the largest, which this page holds" : "here"}`;
  if (found) byId("gantt").focus();
}

function setUpJobs() {
  byId("jobs").addEventListener("toggle", drawJobs);
  for (const [id, other, step] of [["jobs-before", "jobs-after", -1], ["jobs-after", "jobs-before", 1]]) {
    byId(id).addEventListener("click", () => {
      jobTable.page += step;
      drawJobs();
      if (byId(id).disabled) byId(other).focus(); // at the end the focus would be lost
    });
  }
  byId("find-form").addEventListener("submit", (event) => { event.preventDefault(); findJob(); });
}
