// From a plan's packed arrays to bars on rows, watts and load over time, and each cluster's sums.
const NEVER = -(2 ** 31);
const groups = data.clusters.flatMap((cluster, k) => cluster.groups.map((group) => ({ ...group, cluster: k })));
const rows = (() => {
  // A row a node; a wide gap between clusters, a narrow one between the groups of a cluster. If jobs share nodes, a
  // group whose nodes do not follow each other has several blocks, and no gaps between them.
  const nodes = groups.reduce((sum, group) => sum + group.count, 0);
  const gap = nodes * Math.min(0.03, 0.2 / groups.length);
  let top = 0;
  let first = 0;
  for (const [g, group] of groups.entries()) {
    const inside = g > 0 && group.cluster === groups[g - 1].cluster;
    if (g > 0) top += inside ? (data.clusters[group.cluster].scattered ? 0 : gap / 4) : gap;
    Object.assign(group, { top, first });
    top += group.count;
    first += group.count;
  }
  return top;
})();

// A run of neighbouring nodes, group by group: the group, the first row, and how many rows.
function* inGroups(first, count) {
  const last = first + count;
  for (let g = 0; g < groups.length && first < last; g += 1) {
    const until = Math.min(last, groups[g].first + groups[g].count);
    if (first >= until) continue;
    yield [g, groups[g].top + first - groups[g].first, until - first];
    first = until;
  }
}

// The same for cores of each node: a rectangle for all rows if they are all of its cores, else one for each row.
function* inLanes(first, count, low, high) {
  for (const [g, row, nodes] of inGroups(first, count)) {
    const cores = groups[g].cores;
    if (high - low >= cores) yield [g, row, nodes];
    else for (let node = 0; node < nodes; node += 1) yield [g, row + node + low / cores, (high - low) / cores];
  }
}
const rectangles = (plan, i) => (plan.low ? inLanes(plan.first[i], plan.nodes[i], plan.low[i], plan.high[i]) : inGroups(plan.first[i], plan.nodes[i]));

function barsOf(plan) {
  const begin = [], end = [], row = [], height = [], job = [], group = [], tasks = [];
  let piece = 0;
  for (let j = 0; j < plan.pieces.length; j += 1) {
    for (let k = 0; k < plan.pieces[j]; k += 1, piece += 1) {
      for (const [g, top, nodes] of rectangles(plan, piece)) {
        begin.push(plan.start[j] * data.tick);
        end.push(plan.finish[j] * data.tick);
        row.push(top);
        height.push(nodes);
        job.push(j);
        group.push(g);
        if (plan.tasks) tasks.push(plan.tasks[piece]);
      }
    }
  }
  return { begin, end, row, height, job, group, tasks, count: job.length };
}

// Where nodes are closed, and where jobs ran in vain: rectangles on the rows.
function closedOf(plan) {
  return Array.from(plan.closedFirst ?? [], (first, i) => [...inGroups(first, plan.closedNodes[i])].map(([, row, height]) => ({
    begin: plan.closedStart[i] * data.tick, end: plan.closedFinish[i] * data.tick, row, height,
  }))).flat();
}
function darkOf(plan) {
  return Array.from(plan.darkFirst ?? [], (first, i) => [...inGroups(first, plan.darkNodes[i])].map(([, row, height]) => ({
    begin: plan.darkStart[i] * data.tick, end: plan.darkFinish[i] * data.tick, row, height, changes: plan.darkChanges[i],
  }))).flat();
}
function reservedOf(plan, names) {
  return Array.from(plan.reservedFirst ?? [], (first, i) => [...inGroups(first, plan.reservedNodes[i])].map(([, row, height]) => ({
    begin: plan.reservedStart[i] * data.tick, end: plan.reservedFinish[i] * data.tick, row, height, name: names[i],
  }))).flat();
}
function lostOf(plan) {
  const ranges = { first: plan.lostFirst, nodes: plan.lostNodes, low: plan.lostLow, high: plan.lostHigh };
  return Array.from(plan.lostFirst ?? [], (_, i) => [...rectangles(ranges, i)].map(([group, row, height]) => ({
    begin: plan.lostStart[i] * data.tick, end: plan.lostFinish[i] * data.tick, row, height, group, job: plan.lostJob[i],
  }))).flat();
}

// A step function: value[i] holds from at[i] to at[i + 1]; area[i] is its integral up to at[i].
function stepsOf(times, changes, floor, until) {
  const order = Uint32Array.from(times.keys()).sort((a, b) => times[a] - times[b]);
  const at = [0], value = [floor], area = [0];
  for (const i of order) {
    const time = Math.max(times[i], 0);
    const last = at.length - 1;
    if (time > at[last]) {
      area.push(area[last] + value[last] * (time - at[last]));
      at.push(time);
      value.push(value[last] + changes[i]);
    } else {
      value[last] += changes[i];
    }
  }
  return { at, value, area, floor, until };
}

function placeOf(steps, time) {
  let low = 0;
  let high = steps.at.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (steps.at[middle] <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}
const valueAt = (steps, time) => (time < 0 || time > steps.until ? 0 : steps.value[placeOf(steps, time)]);

function areaUntil(steps, time) {
  const clipped = Math.min(Math.max(time, 0), steps.until);
  const i = placeOf(steps, clipped);
  return steps.area[i] + steps.value[i] * (clipped - steps.at[i]);
}
const meanOf = (steps, from, to) => (to > from ? (areaUntil(steps, to) - areaUntil(steps, from)) / (to - from) : valueAt(steps, from));

function mostOf(steps, from, to) {
  let most = 0;
  for (let i = placeOf(steps, Math.max(from, 0)); i < steps.at.length && steps.at[i] < to; i += 1) most = Math.max(most, steps.value[i]);
  return most;
}

// What a cluster draws and carries: eqs. 1.8 (idle and busy watts) and 1.3 (a job's demand on each uplink it crosses).
// The sums are those of all jobs, which the page brings along; so do thinned plans the steps.
function clustersOf(plan, bars, lost, jobs, { until, clusters }) {
  const even = (values) => evenSteps(values, until);
  const found = plan.shade
    ? data.clusters.map((_, k) => ({ power: even(plan[`power${k}`]), load: even(plan[`load${k}`]), most: even(plan[`most${k}`]) }))
    : exactSteps(withLost(bars, lost), jobs, plan, until);
  return found.map((steps, k) => ({
    name: data.clusters[k].name,
    nodes: data.clusters[k].groups.reduce((sum, group) => sum + group.count, 0),
    uplink: data.clusters[k].uplink,
    idleWatts: data.clusters[k].groups.reduce((sum, group) => sum + group.idle * group.count, 0),
    ...clusters[k],
    ...steps,
  }));
}

function evenSteps(values, until) {
  // As stepsOf gives them, of means over equal parts of the period.
  const size = until / Math.max(values?.length ?? 0, 1);
  const at = [0], value = [values?.[0] ?? 0], area = [0];
  for (let i = 1; i < (values?.length ?? 0); i += 1) {
    at.push(i * size);
    area.push(area[i - 1] + value[i - 1] * size);
    value.push(values[i]);
  }
  return { at, value, area, until };
}

// All that ran, of one job and run after the other.
function withLost(bars, lost) {
  const all = { ...bars };
  for (const name of ["begin", "end", "height", "job", "group"]) all[name] = [...bars[name], ...lost.map((one) => one[name])];
  return { ...all, count: all.job.length };
}

// How many tasks of a job stand on each of its nodes of a group.
function onNode(jobs, job, group) {
  if (jobs.fits) return jobs.fits[job * groups.length + group];
  return jobs.each && jobs.each[job] > 0 ? jobs.each[job] : 1;
}

// And how many it has.
function tasksOf(jobs, job) {
  return jobs.on_nodes && jobs.on_nodes[job] > 0 ? jobs.on_nodes[job] : jobs.tasks[job];
}

function exactSteps(bars, jobs, plan, until) {
  const found = data.clusters.map(() => ({ times: [], changes: [], loadTimes: [], loads: [], idle: 0 }));
  for (const group of groups) found[group.cluster].idle += group.idle * group.count;
  (plan.offWatts || []).forEach((more, i) => {
    found[plan.offCluster[i]].times.push(plan.offStart[i] * data.tick, plan.offFinish[i] * data.tick);
    found[plan.offCluster[i]].changes.push(more, -more);
  });
  found.forEach((one, k) => { // if jobs share nodes, the loads come along: heights do not tell tasks
    one.loadTimes.push(...Array.from(plan[`loadAt${k}`] ?? [], (at) => at * data.tick));
    one.loads.push(...(plan[`loadBy${k}`] ?? []));
  });
  let here = new Map();
  let holds = []; // of each bar: its cluster, and how many tasks a node of it holds
  for (let b = 0; b < bars.count; b += 1) {
    const group = groups[bars.group[b]];
    const one = found[group.cluster];
    const own = jobs.watts ? jobs.watts[bars.job[b]] : -1; // what each of the job's nodes draws; below 0: its group's
    const gear = plan.gear ? plan.gear[bars.job[b]] : 0; // 0: full speed
    const busy = gear > 0 ? group.gears[gear - 1] : group.busy;
    const extra = ((own < 0 ? busy : own) - group.idle) * bars.height[b];
    one.times.push(bars.begin[b], bars.end[b]);
    one.changes.push(extra, -extra);
    const each = onNode(jobs, bars.job[b], bars.group[b]);
    here.set(group.cluster, (here.get(group.cluster) || 0) + bars.height[b] * each);
    holds.push([group.cluster, each]);
    if (bars.job[b + 1] !== bars.job[b] || bars.begin[b + 1] !== bars.begin[b]) {
      const tasks = tasksOf(jobs, bars.job[b]);
      if (jobs.bandwidth && here.size > 1 && !plan.low) {
        const over = [...here.values()].reduce((sum, places) => sum + places, 0) - tasks;
        const last = Math.max(...holds.filter(([, most]) => most > over).map(([k]) => k)); // whose last node is not full
        for (const [k, places] of here) {
          const there = places - (k === last ? over : 0);
          const demand = (there * jobs.bandwidth[bars.job[b]] * (tasks - there)) / Math.max(tasks - 1, 1);
          found[k].loadTimes.push(bars.begin[b], bars.end[b]);
          found[k].loads.push(demand, -demand);
        }
      }
      here = new Map();
      holds = [];
    }
  }
  return found.map((one) => {
    const load = stepsOf(one.loadTimes, one.loads, 0, until);
    return { power: stepsOf(one.times, one.changes, one.idle, until), load, most: load };
  });
}

// Of a thinned plan: how full all jobs that have no bar make each cell, as a picture's opacity.
function shadingOf(plan, { columns, firstRows }) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [columns, firstRows.at(-1)];
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  for (let i = 0; i < plan.shade.length; i += 1) image.data[4 * i + 3] = plan.shade[i] * 17;
  context.putImageData(image, 0, 0);
  return { canvas, colour: "" };
}

async function shownPlan(entry, jobs) {
  const plan = await unpack(entry.plan);
  const { sums, thinned = null } = entry.plan;
  const bars = barsOf(plan);
  const clustersPerJob = new Uint16Array(plan.pieces.length);
  const seen = new Int32Array(plan.pieces.length).fill(-1);
  for (let b = 0; b < bars.count && !thinned; b += 1) {
    const k = groups[bars.group[b]].cluster;
    if (seen[bars.job[b]] !== k) clustersPerJob[bars.job[b]] += 1;
    seen[bars.job[b]] = k;
  }
  if (thinned) for (const k of data.clusters.keys()) plan[`on${k}`].forEach((nodes, j) => { clustersPerJob[j] += nodes > 0; });
  const barOfJob = new Int32Array(plan.pieces.length).fill(-1);
  for (let b = bars.count - 1; b >= 0; b -= 1) barOfJob[bars.job[b]] = b;
  const started = [...plan.pieces.keys()].filter((j) => plan.pieces[j] > 0);
  started.sort((a, b) => plan.start[a] - plan.start[b] || a - b);
  const shading = thinned ? shadingOf(plan, thinned) : null;
  const lost = lostOf(plan);
  const clusters = clustersOf(plan, bars, lost, jobs, sums);
  return { entry, plan, bars, until: sums.until, peak: sums.peak, thinned, shading, barOfJob, clustersPerJob, order: started, clusters, closed: closedOf(plan), dark: darkOf(plan), reserved: reservedOf(plan, entry.plan.reservedNames), lost };
}

const startOf = (shown, j) => shown.plan.start[j] * data.tick;
const finishOf = (shown, j) => shown.plan.finish[j] * data.tick;
const waitOf = (shown, jobs, j) => startOf(shown, j) - jobs.submit[j] * data.tick;

const nodesOf = (shown, j) => data.clusters.reduce((sum, _, k) => sum + shown.plan[`on${k}`][j], 0); // if nodes are counted

function placesOf(shown, j) {
  const nodes = new Map();
  const counted = Boolean(shown.plan.on0); // else each bar of the job is drawn, and has its own nodes
  if (counted) for (const [k, cluster] of data.clusters.entries()) if (shown.plan[`on${k}`][j]) nodes.set(cluster.name, shown.plan[`on${k}`][j]);
  for (let b = counted ? -1 : shown.barOfJob[j]; b >= 0 && shown.bars.job[b] === j; b += 1) {
    const name = data.clusters[groups[shown.bars.group[b]].cluster].name;
    nodes.set(name, (nodes.get(name) || 0) + shown.bars.height[b]);
  }
  return [...nodes].map(([name, count]) => `${name} ${count}`).join(", ");
}

// What the job of a bar takes of the node under the pointer, if jobs share nodes.
function shareOf(shown, b, row) {
  const { bars, barOfJob, thinned } = shown;
  const group = groups[bars.group[b]];
  const place = Math.min(Math.max(Math.floor(row - group.top), 0), group.count - 1);
  const node = group.first + place - groups.find((one) => one.cluster === group.cluster).first;
  const top = group.top + place;
  let taken = 0; // the cores need not be neighbours
  for (let k = barOfJob[bars.job[b]]; bars.job[k] === bars.job[b]; k += 1) {
    taken += Math.max(Math.min(bars.row[k] + bars.height[k], top + 1) - Math.max(bars.row[k], top), 0) * group.cores;
  }
  const cores = thinned ? "" : `, ${Math.round(taken)} of ${group.cores} cores`; // else some of the bars are shading
  return `node ${node} of ${data.clusters[group.cluster].name}: ${counted(bars.tasks[b], "task")}${cores}`;
}
