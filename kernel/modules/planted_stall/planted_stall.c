// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * planted_stall: a shrinker that does nothing but sleep, so that it is known what `manometer why`
 * has to find. It frees nothing.
 *
 * It sleeps only in reclaim that a task of the cgroup "probe" is stalled in, `sleep_us` each time,
 * at most `times` times, and says on the console, for each, who slept, since when and how long by
 * the kernel's own clock (CLOCK_MONOTONIC):
 *
 *   planted_stall: pid 123 at 4567890123 ns for 5004321 ns
 */
#define pr_fmt(text) KBUILD_MODNAME ": " text

#include <linux/atomic.h>
#include <linux/cgroup.h>
#include <linux/delay.h>
#include <linux/kernfs.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/shrinker.h>

static unsigned int sleep_us = 5000;
module_param(sleep_us, uint, 0444);
MODULE_PARM_DESC(sleep_us, "how long each call sleeps");
static int times = 40;
module_param(times, int, 0444);
MODULE_PARM_DESC(times, "how many calls sleep");

static atomic_t slept = ATOMIC_INIT(0);
static struct shrinker *planted;

/* Not inlined: its name is what is looked for. */
static noinline void planted_stall_sleep(void)
{
	u64 since = ktime_get_ns();

	usleep_range_state(sleep_us, sleep_us + 1, TASK_UNINTERRUPTIBLE);
	pr_alert("pid %d at %llu ns for %llu ns\n", task_pid_nr(current), since,
		 ktime_get_ns() - since);
}

static bool is_probe(void)
{
	struct cgroup *group;
	bool found;

	rcu_read_lock();
	group = task_dfl_cgroup(current);
	found = group && group->kn && !strcmp(rcu_dereference(group->kn->name), "probe");
	rcu_read_unlock();
	return found;
}

/* The task is stalled, and it is the probe's: whoever else reclaims has nothing to shrink here. */
static bool is_stalled_probe(void)
{
	return current->in_memstall && is_probe();
}

/* So many that even at the lowest priority (a 4096th of them is tried) a call of scan comes of it. */
static unsigned long planted_stall_count(struct shrinker *shrinker, struct shrink_control *control)
{
	return is_stalled_probe() && atomic_read(&slept) < times ? 1UL << 20 : SHRINK_EMPTY;
}

static unsigned long planted_stall_scan(struct shrinker *shrinker, struct shrink_control *control)
{
	if (!is_stalled_probe())
		return SHRINK_STOP;
	if (atomic_inc_return(&slept) > times)
		return SHRINK_STOP;
	planted_stall_sleep();
	return SHRINK_STOP;
}

static int __init planted_stall_init(void)
{
	planted = shrinker_alloc(0, "planted_stall");
	if (!planted)
		return -ENOMEM;
	planted->count_objects = planted_stall_count;
	planted->scan_objects = planted_stall_scan;
	shrinker_register(planted);
	return 0;
}

static void __exit planted_stall_exit(void)
{
	shrinker_free(planted);
}

module_init(planted_stall_init);
module_exit(planted_stall_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("a shrinker that sleeps for a known time");
