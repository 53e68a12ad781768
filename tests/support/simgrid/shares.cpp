// Jobs that send between clusters, over SimGrid's flows: an independent answer to when each of them ends.
//
// Input: the number of clusters and their uplinks; the number of jobs, and of each its start, its work, its sigma·PS, its
// sigma, and as many numbers of tasks as there are clusters, with the bandwidth of a task. Of each pair of its clusters a
// job has one flow, limited to what it would send, as long as it runs; its communication goes as its slowest flow does.
// Output: each job's end.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <simgrid/s4u.hpp>
#include <vector>

namespace sg4 = simgrid::s4u;

struct Flow {
  sg4::CommPtr comm;
  sg4::ActorPtr sender, receiver;
  double wanted, left;
};
struct Job {
  double start, work, compute, sigma, end = -1;
  std::vector<double> tasks;
  double bandwidth;
  std::vector<std::shared_ptr<Flow>> flows;
};

static std::vector<sg4::Host*> hosts;
static std::vector<Job> jobs;
static const double ENDLESS = 1e6;  // seconds for which a flow could go on unhindered
static const double SOON = 1e-5;    // seconds: who has no more left ends

static void begin(Job& job) {
  static int count = 0;
  double all = 0;
  for (double tasks : job.tasks) all += tasks;
  for (size_t k = 0; k < hosts.size(); k++)
    for (size_t l = k + 1; l < hosts.size(); l++) {
      double wanted = job.tasks[k] * job.tasks[l] * job.bandwidth / (all - 1);
      if (wanted <= 0) continue;
      auto flow = std::make_shared<Flow>();
      auto* box = sg4::Mailbox::by_name("flow " + std::to_string(count++));
      flow->wanted = wanted;
      flow->sender = sg4::Actor::create("sender", hosts[k], [flow, box] {
        static int nothing = 0;
        flow->comm = box->put_init(&nothing, static_cast<uint64_t>(flow->wanted * ENDLESS));
        flow->comm->set_rate(flow->wanted)->start();
        try {
          flow->comm->wait();
        } catch (const simgrid::Exception&) {
        }
      });
      flow->receiver = sg4::Actor::create("receiver", hosts[l], [box] {
        try {
          box->get<int>();
        } catch (const simgrid::Exception&) {  // the job has ended
        }
      });
      job.flows.push_back(flow);
    }
}

static void drive() {
  std::vector<Job*> running;
  std::vector<Job*> coming;
  for (Job& job : jobs) coming.push_back(&job);
  std::stable_sort(coming.begin(), coming.end(), [](Job* a, Job* b) { return a->start < b->start; });
  size_t next = 0;
  while (next < coming.size() || !running.empty()) {
    double now = sg4::Engine::get_clock();
    while (next < coming.size() && coming[next]->start <= now + SOON) {
      begin(*coming[next]);
      running.push_back(coming[next++]);
    }
    sg4::this_actor::yield();  // flows begin
    sg4::this_actor::yield();
    double until = next < coming.size() ? coming[next]->start - now : 1e300;
    for (Job* job : running) until = std::min(until, job->work * (job->compute + 1 - job->sigma));
    double probe = std::max(until * 0.01, SOON);  // nobody ends, nor starts, that soon: rates stay what they are
    for (Job* job : running)
      for (auto& flow : job->flows) flow->left = flow->comm->get_remaining();
    sg4::this_actor::sleep_for(probe);
    double step = until - probe;
    std::vector<double> cost;
    for (Job* job : running) {
      double share = 1;
      for (auto& flow : job->flows)
        share = std::min(share, (flow->left - flow->comm->get_remaining()) / probe / flow->wanted);
      cost.push_back(job->compute + (1 - job->sigma) / share);
      job->work -= probe / cost.back();
      step = std::min(step, job->work * cost.back());
    }
    if (next < coming.size()) step = std::min(step, coming[next]->start - sg4::Engine::get_clock());
    if (step > 0) sg4::this_actor::sleep_for(step);
    std::vector<Job*> still;
    for (size_t i = 0; i < running.size(); i++) {
      Job* job = running[i];
      job->work -= std::max(step, 0.0) / cost[i];
      if (job->work * cost[i] > SOON) {
        still.push_back(job);
        continue;
      }
      job->end = sg4::Engine::get_clock();
      for (auto& flow : job->flows) {
        flow->sender->kill();
        flow->receiver->kill();
      }
    }
    running = still;
  }
}

int main(int argc, char** argv) {
  sg4::Engine engine(&argc, argv);
  sg4::Engine::set_config("network/model:CM02");
  sg4::Engine::set_config("network/crosstraffic:0");
  sg4::Engine::set_config("network/weight-S:0");
  sg4::Engine::set_config("network/bandwidth-factor:1");
  sg4::Engine::set_config("network/latency-factor:1");
  auto* zone = sg4::create_full_zone("federation");
  size_t clusters, count;
  if (std::scanf("%zu", &clusters) != 1) return 1;
  std::vector<sg4::Link*> links;
  for (size_t k = 0; k < clusters; k++) {
    double uplink;
    if (std::scanf("%lf", &uplink) != 1) return 1;
    hosts.push_back(zone->create_host("c" + std::to_string(k), 1e9));
    links.push_back(zone->create_link("u" + std::to_string(k), uplink)->set_latency(0));
    links.back()->seal();
  }
  for (size_t k = 0; k < clusters; k++)
    for (size_t l = k + 1; l < clusters; l++)
      zone->add_route(hosts[k]->get_netpoint(), hosts[l]->get_netpoint(), nullptr, nullptr,
                      {sg4::LinkInRoute(links[k]), sg4::LinkInRoute(links[l])}, true);
  zone->seal();
  if (std::scanf("%zu", &count) != 1) return 1;
  jobs.resize(count);
  for (Job& job : jobs) {
    if (std::scanf("%lf %lf %lf %lf %lf", &job.start, &job.work, &job.compute, &job.sigma, &job.bandwidth) != 5) return 1;
    job.tasks.resize(clusters);
    for (double& tasks : job.tasks)
      if (std::scanf("%lf", &tasks) != 1) return 1;
  }
  sg4::Actor::create("driver", hosts[0], drive);
  engine.run();
  for (Job& job : jobs) std::printf("%.12g\n", job.end);
  return 0;
}
