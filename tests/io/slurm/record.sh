#!/bin/bash
# What a real Slurm prints of reservations and of nodes that fail, for the tests of calendars.
#
#   record.sh FOLDER
#
# brings one of 14 nodes up on the loopback alone, in that folder, makes reservations and takes nodes out of service,
# writes what the commands print to FOLDER/out, and ends what it started. As root, on Debian 12 with slurm-wlm, slurmdbd,
# munge and mariadb-server. README.md says what was taken from there.
set -u
D=$(realpath "$1"); B=21800; H=$(hostname -s)
export PATH=$PATH:/usr/sbin:/sbin TZ=UTC SLURM_CONF=$D/slurm.conf
mkdir -p "$D"/{run,log,spool,state,db,out}
say() { echo "\$ $*"; "$@" 2>&1; }

head -c 1024 /dev/urandom > "$D/run/munge.key"; chmod 600 "$D/run/munge.key"
munged --force --key-file="$D/run/munge.key" --socket="$D/run/munge.socket" --pid-file="$D/run/munged.pid" \
  --log-file="$D/log/munged.log" --seed-file="$D/run/munged.seed"
cat > "$D/slurm.conf" <<CONF
ClusterName=north
SlurmctldHost=$H(127.0.0.1)
SlurmctldPort=$B
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=$D/run/munge.socket
StateSaveLocation=$D/state
SlurmdSpoolDir=$D/spool/%n
SlurmctldPidFile=$D/run/slurmctld.pid
SlurmdPidFile=$D/run/slurmd.%n.pid
SlurmctldLogFile=$D/log/slurmctld.log
SlurmdLogFile=$D/log/slurmd.%n.log
MailProg=/bin/true
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SlurmdTimeout=0
MessageTimeout=100
TCPTimeout=100
Licenses=matlab:10
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$((B + 1))
AccountingStoragePass=$D/run/munge.socket
NodeName=DEFAULT RealMemory=1000
NodeName=cn[001-010] NodeHostname=$H NodeAddr=127.0.0.1 Port=[$((B + 10))-$((B + 19))] CPUs=4 CoresPerSocket=4 Feature=thin
NodeName=gpu[1-4] NodeHostname=$H NodeAddr=127.0.0.1 Port=[$((B + 20))-$((B + 23))] CPUs=8 CoresPerSocket=8 RealMemory=2000 Feature=fat
PartitionName=batch Nodes=cn[001-010] Default=YES MaxTime=INFINITE State=UP
PartitionName=gpus Nodes=gpu[1-4] MaxTime=INFINITE State=UP
CONF
printf 'CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n' > "$D/cgroup.conf"
cat > "$D/slurmdbd.conf" <<CONF
AuthInfo=socket=$D/run/munge.socket
DbdHost=$H
DbdAddr=127.0.0.1
DbdPort=$((B + 1))
SlurmUser=root
LogFile=$D/log/slurmdbd.log
PidFile=$D/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageLoc=slurm_acct_db
StorageHost=127.0.0.1
StoragePort=$((B + 2))
StorageUser=slurm
StoragePass=slurm
CONF
chmod 600 "$D/slurmdbd.conf"
sql="create database slurm_acct_db; create user slurm@'127.0.0.1' identified by 'slurm';"
sql="$sql grant all on slurm_acct_db.* to slurm@'127.0.0.1'"
mariadb-install-db --no-defaults --datadir="$D/db/data" --auth-root-authentication-method=normal --skip-test-db \
  > /dev/null 2>&1
mariadbd --no-defaults --datadir="$D/db/data" --socket="$D/db/my.sock" --pid-file="$D/run/mariadbd.pid" \
  --bind-address=127.0.0.1 --port=$((B + 2)) --skip-name-resolve --innodb-buffer-pool-size=64M \
  --log-error="$D/log/mariadb.log" --user=root > /dev/null 2>&1 &
for _ in $(seq 100); do
  mariadb --no-defaults -u root -S "$D/db/my.sock" -e "$sql" 2> /dev/null && break
  sleep 0.3
done
slurmdbd
for _ in $(seq 60); do sacctmgr -n list cluster > /dev/null 2>&1 && break; sleep 1; done
sacctmgr -i add cluster north > /dev/null
sacctmgr -i add account physics,chem > /dev/null
sacctmgr -i add user root account=physics > /dev/null
slurmctld -c
for n in $(scontrol show hostnames 'cn[001-010],gpu[1-4]'); do slurmd -N "$n"; done
for _ in $(seq 60); do [ "$(sinfo -h -t idle -N -o %N | sort -u | wc -l)" = 14 ] && break; sleep 1; done

cd "$D/out" || exit
r="scontrol create reservation"
{
  say $r ReservationName=switches StartTime=2027-01-12T08:00:00 Duration=8:00:00 Nodes=ALL Flags=MAINT,IGNORE_JOBS Users=root
  say $r ReservationName=rack StartTime=2027-01-13T08:00:00 EndTime=2027-01-13T18:00:00 Nodes='cn[001-004,007],gpu1' Flags=MAINT,IGNORE_JOBS Users=root
  say $r ReservationName=patches StartTime=2027-01-14T02:00:00 Duration=1:00:00 Nodes='gpu[1-4]' Flags=MAINT,WEEKLY Users=root
  say $r ReservationName=tests StartTime=2027-01-15T06:00:00 Duration=30 NodeCnt=2 PartitionName=batch Flags=DAILY Accounts=physics
  say $r ReservationName=course StartTime=2027-01-18T09:00:00 Duration=1-00:00:00 NodeCnt=3 PartitionName=batch Users=root Flags=FLEX
  say $r ReservationName=cores StartTime=2027-01-19T09:00:00 Duration=2:00:00 PartitionName=batch CoreCnt=1,1 NodeCnt=2 Users=root Flags=MAINT
  say $r ReservationName=float StartTime=now+60minutes Duration=4:00:00 NodeCnt=2 PartitionName=batch Users=root Flags=MAINT,TIME_FLOAT
  say $r ReservationName=licences StartTime=2027-01-20T09:00:00 Duration=2:00:00 Licenses=matlab:4 Users=root Flags=MAINT,LICENSE_ONLY
  say $r ReservationName=both StartTime=2027-01-20T12:00:00 Duration=2:00:00 Nodes=gpu4 Licenses=matlab:2 Users=root Flags=MAINT
  say $r ReservationName=endless StartTime=2027-01-21T09:00:00 Duration=INFINITE Nodes=ALL PartitionName=gpus Users=root Flags=PART_NODES,MAINT,OVERLAP,IGNORE_JOBS
  say $r ReservationName=running StartTime=now Duration=90 Nodes='cn[009-010]' Users=root Flags=MAINT,IGNORE_JOBS
  say $r ReservationName=weekend StartTime=2027-01-23T00:00:00 Duration=2:00:00 Nodes=cn005 Users=root Flags=MAINT,WEEKEND
  say $r ReservationName=workday StartTime=2027-01-22T20:00:00 Duration=2:00:00 Nodes=cn006 Users=root Flags=MAINT,WEEKDAY
  say $r ReservationName=hourly StartTime=2027-02-01T00:00:00 Duration=10 Nodes=cn008 Accounts=-chem Flags=HOURLY,MAGNETIC
  say $r ReservationName=daily StartTime=2027-02-01T23:30:00 Duration=60 Nodes=cn008 Users=root Flags=MAINT,DAILY,PURGE_COMP=5
} > commands.txt
sleep 1
scontrol show res -o > reservations-o.txt
scontrol show res > reservations.txt
SLURM_TIME_FORMAT=%s scontrol show res -o > reservations-seconds.txt
scontrol show node -o > nodes-o.txt
scontrol show node > nodes.txt
sinfo -N > sinfo-N.txt
sinfo -N -o '%N %c %P' > sinfo-cpus.txt

u="scontrol update"
{
  say $u nodename=cn001 state=down reason="disk | failed"
  say $u nodename=cn002 state=drain reason="memory"
  sbatch -w cn003 -o /dev/null --wrap "sleep 8"; sleep 3
  say $u nodename=cn003 state=drain reason="a job ends first"
  say $u nodename=cn004 state=fail reason="will fail"
  say $u nodename=cn009 state=down reason="in maintenance"
  say $u nodename=cn010 state=drain reason="in maintenance"
  say $u nodename=gpu2 state=future
  sleep 4
  say $u nodename=cn001 state=resume
  say $u nodename=cn002 state=down reason="now down"
  say $u nodename='gpu[3-4]' state=down reason="power"
  sleep 6
  say $u nodename=cn002 state=resume
  say $u nodename='gpu[3-4]' state=resume
  say $u nodename=cn005 state=down reason="still open"
  say $u nodename=cn008 state=drain reason="reboot"
  say $u nodename=cn008 state=resume
  scontrol reconfigure; sleep 1
  kill -9 "$(cat "$D/run/slurmctld.pid")"; sleep 6; slurmctld; sleep 6
} > changes.txt 2>&1
e="sacctmgr show events start=2026-01-01"
sacctmgr -P show events start=2026-01-01 > events-P.txt
sacctmgr -p show events start=2026-01-01 > events-p.txt
$e > events-table.txt
sacctmgr -P -n show events start=2026-01-01 > events-n.txt
f=format=Cluster,NodeName,TimeStart,TimeEnd,State,Reason,User,ClusterNodes,Duration,CPUCount,EventRaw,StateRaw
sacctmgr -P show events start=2026-01-01 $f > events-all.txt
SLURM_TIME_FORMAT=%s sacctmgr -P show events start=2026-01-01 > events-seconds.txt

for p in "$D"/run/slurmd.*.pid "$D"/run/{slurmctld,slurmdbd,mariadbd,munged}.pid; do
  [ -f "$p" ] && kill "$(cat "$p")"
  case $p in */slurmctld.pid | */slurmdbd.pid) sleep 2 ;; esac
done
