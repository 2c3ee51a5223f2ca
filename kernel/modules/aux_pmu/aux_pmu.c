// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * aux_pmu: PMUs made of software, with an AUX area and nothing behind it.
 *
 * A perf AUX area is allocated by the kernel (rb_alloc_aux() in kernel/events/ring_buffer.c) in a
 * way that depends only on what the PMU says its hardware can do. So an event of one of these PMUs
 * takes memory just as an event of a tracing unit would, on machines that have none. Nothing is
 * ever traced.
 *
 * One PMU for each thing that a PMU can say, all there at once:
 *
 *   aux_pages         single pages will do
 *   aux_prefer_large  large chunks are better, but single pages will do
 *   aux_no_sg         one contiguous piece (per half of the buffer), or nothing
 *   aux_default       says nothing at all
 *
 * What a kernel can't be told isn't registered: before PERF_PMU_CAP_AUX_PREFER_LARGE came, a PMU
 * that said nothing always got large chunks, so there is neither aux_pages nor aux_prefer_large on
 * such a kernel, and aux_default is what there is.
 *
 * /dev/aux_pmu tells which chunks each area was made of that is mapped now, a line for each:
 *
 *   aux_prefer_large cpu 3 pages 1024 overwrite 0 chunks 0 0 0 12 0 0 0 0 7 0 0 0 0 0 0 0
 *
 * the numbers of chunks of order 0, 1, 2 … up to 15. Reading allocates nothing. The file's position
 * counts areas, not bytes: a read gives as many whole lines as fit.
 */
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>

#define ORDERS 16

struct area {
	struct list_head list;
	const char *pmu;
	int cpu;
	int pages;
	bool overwrite;
	unsigned int chunks[ORDERS];
};

static LIST_HEAD(areas);
static DEFINE_SPINLOCK(areas_lock);

/*
 * The allocator marks the first page of each chunk of more than one page: PagePrivate, with the
 * order as its private value. A page without the mark is a chunk of its own.
 */
static void count_chunks(struct area *area, void **pages, int nr_pages)
{
	int i = 0;

	while (i < nr_pages) {
		struct page *page = virt_to_page(pages[i]);
		unsigned long order = PagePrivate(page) ? page_private(page) : 0;

		if (order >= ORDERS)
			order = ORDERS - 1;
		area->chunks[order]++;
		i += 1 << order;
	}
}

static void *aux_setup(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	struct area *area = kzalloc(sizeof(*area), GFP_KERNEL);

	if (!area)
		return NULL;
	area->pmu = event->pmu->name;
	area->cpu = event->cpu;
	area->pages = nr_pages;
	area->overwrite = overwrite;
	count_chunks(area, pages, nr_pages);

	spin_lock(&areas_lock);
	list_add_tail(&area->list, &areas);
	spin_unlock(&areas_lock);
	return area;
}

static void aux_free(void *priv)
{
	struct area *area = priv;

	spin_lock(&areas_lock);
	list_del(&area->list);
	spin_unlock(&areas_lock);
	kfree(area);
}

static int aux_event_init(struct perf_event *event)
{
	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	/* Like most tracing units: of a whole CPU, not of a task. */
	if (event->cpu < 0)
		return -EINVAL;
	return 0;
}

static int aux_add(struct perf_event *event, int flags)
{
	return 0;
}

static void aux_del(struct perf_event *event, int flags)
{
}

static void aux_start(struct perf_event *event, int flags)
{
}

static void aux_stop(struct perf_event *event, int flags)
{
}

static void aux_read(struct perf_event *event)
{
}

#define AUX_PMU(caps)                                                                              \
	{                                                                                          \
		.module = THIS_MODULE, .capabilities = (caps), .task_ctx_nr = perf_invalid_context, \
		.event_init = aux_event_init, .add = aux_add, .del = aux_del, .start = aux_start,  \
		.stop = aux_stop, .read = aux_read, .setup_aux = aux_setup, .free_aux = aux_free,  \
	}

static struct {
	const char *name;
	struct pmu pmu;
} pmus[] = {
	{ "aux_default", AUX_PMU(0) },
	{ "aux_no_sg", AUX_PMU(PERF_PMU_CAP_AUX_NO_SG) },
#ifdef PERF_PMU_CAP_AUX_PREFER_LARGE
	{ "aux_pages", AUX_PMU(0) },
	{ "aux_prefer_large", AUX_PMU(PERF_PMU_CAP_AUX_PREFER_LARGE) },
#endif
};

/* The line of the area at this place in the list; 0 when there are fewer. */
static int format_area(loff_t place, char *line, size_t size)
{
	struct area *area;
	int length = 0;
	int order;

	spin_lock(&areas_lock);
	list_for_each_entry(area, &areas, list) {
		if (place-- > 0)
			continue;
		length = scnprintf(line, size, "%s cpu %d pages %d overwrite %d chunks", area->pmu,
				   area->cpu, area->pages, area->overwrite);
		for (order = 0; order < ORDERS; order++)
			length += scnprintf(line + length, size - length, " %u",
					    area->chunks[order]);
		length += scnprintf(line + length, size - length, "\n");
		break;
	}
	spin_unlock(&areas_lock);
	return length;
}

static ssize_t areas_read(struct file *file, char __user *to, size_t size, loff_t *place)
{
	char line[256];
	size_t done = 0;

	while (true) {
		int length = format_area(*place, line, sizeof(line));

		if (length == 0)
			break;
		if (length > size - done) {
			if (done == 0)
				return -EINVAL; /* not even one line fits */
			break;
		}
		if (copy_to_user(to + done, line, length))
			return -EFAULT;
		done += length;
		++*place;
	}
	return done;
}

static const struct file_operations areas_operations = {
	.owner = THIS_MODULE,
	.read = areas_read,
	.llseek = default_llseek,
};

static struct miscdevice areas_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "aux_pmu",
	.fops = &areas_operations,
	.mode = 0444,
};

static void unregister_first(int count)
{
	while (count-- > 0)
		perf_pmu_unregister(&pmus[count].pmu);
}

static int __init aux_pmu_init(void)
{
	int i;
	int error;

	for (i = 0; i < ARRAY_SIZE(pmus); i++) {
		error = perf_pmu_register(&pmus[i].pmu, pmus[i].name, -1);
		if (error)
			goto undo;
	}
	error = misc_register(&areas_device);
	if (!error)
		return 0;
undo:
	unregister_first(i);
	return error;
}

static void __exit aux_pmu_exit(void)
{
	misc_deregister(&areas_device);
	unregister_first(ARRAY_SIZE(pmus));
}

module_init(aux_pmu_init);
module_exit(aux_pmu_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("PMUs made of software with an AUX area, for looking at its allocation");
