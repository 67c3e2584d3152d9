/*
 * What the tests of CANN's own allocator assert, asked through the public calls, one line a row: pools, attributes and addresses.
 * The ids are those of core/tests/cann_rows, which asks the pool itself; the codes are CANN's.
 */
#include "acl_rows.h"

/* A pool's size is the most that a trim can keep. */
static void has_size(aclrtMemPool pool, uint64_t bytes)
{
    OK(aclrtMemPoolTrimTo(pool, bytes));
    REFUSED(507000, "the pool's size is", aclrtMemPoolTrimTo(pool, bytes + 1));
}

static void is_refused(aclError code, const char *part, aclrtMemPoolProps props)
{
    aclrtMemPool pool = NULL;
    REFUSED(code, part, aclrtMemPoolCreate(&pool, &props));
    CHECK(pool == NULL);
}

/* C: making pools and ending them. */

static void ten_of_sixteen(void)
{
    has_size(make_pool(10 * GIB), 10 * GIB);
}

static void in_any_order(void)
{
    for (int first = 0; first < 2; first++) {
        aclrtMemPool pools[2];
        pools[0] = make_pool(10 * GIB);
        pools[1] = make_pool(5 * GIB);
        OK(aclrtMemPoolDestroy(pools[first]));
        has_size(pools[1 - first], first == 0 ? 5 * GIB : 10 * GIB);
        OK(aclrtMemPoolDestroy(pools[1 - first]));
    }
}

static void whole_device(void)
{
    has_size(make_pool(0), 16 * GIB);
}

static void four_granules(void)
{
    has_size(make_pool(0), 8 * MIB);
}

static void two_granules(void)
{
    aclrtMemPool pool = make_pool(0);
    has_size(pool, 4 * MIB);
    OK(aclrtMemPoolDestroy(pool));
}

static void six_of_four(void)
{
    is_refused(107000, "", properties(6 * MIB));
}

static void rounded_up(void)
{
    has_size(make_pool(2 * MIB - 1), 2 * MIB);
}

static void twenty_of_sixteen(void)
{
    is_refused(107000, "", properties(20 * GIB));
}

static void thirty_of_twenty(void)
{
    is_refused(107000, "", properties(30 * GIB));
}

static void ends(void)
{
    aclrtMemPool pool = make_pool(10 * GIB);
    OK(aclrtMemPoolDestroy(pool));
    REFUSED(507000, "no pool", aclrtMemPoolDestroy(pool));
}

static void end_of_null(void)
{
    REFUSED(100000, "memPool", aclrtMemPoolDestroy(NULL));
}

static void made_again(void)
{
    aclrtMemPool first = make_pool(10 * GIB);
    OK(aclrtMemPoolDestroy(first));
    CHECK(make_pool(10 * GIB) != first);
}

static void side_by_side(void)
{
    aclrtMemPool small = make_pool(2 * MIB), large = make_pool(4 * MIB);
    has_size(small, 2 * MIB);
    has_size(large, 4 * MIB);
    OK(aclrtMemPoolDestroy(small));
    OK(aclrtMemPoolDestroy(large));
}

static void size_ten(void)
{
    has_size(make_pool(10), 2 * MIB);
}

static void reserved_byte(void)
{
    for (size_t place = 0; place < 32; place++) {
        aclrtMemPoolProps props = properties(10);
        props.reserved[place] = 1;
        is_refused(100000, "reserved", props);
    }
}

static void location_is_host(void)
{
    aclrtMemPoolProps props = properties(10);
    props.location.type = ACL_MEM_LOCATION_TYPE_HOST;
    is_refused(100000, "location", props);
}

static void ends_with_live_blocks(void)
{
    aclrtMemPool pool = make_pool(64 * MIB);
    allocate(pool, 2 * MIB, one);
    OK(aclrtMemPoolDestroy(pool));
}

/* A: the eight attributes. */

static void threshold_of_a_new_pool(void)
{
    CHECK(attribute(make_pool(10 * GIB), ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD) == 0);
}

static void threshold_is_set(void)
{
    aclrtMemPool pool = make_pool(10 * GIB);
    OK(set(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, 2 * GIB));
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD) == 2 * GIB);
}

static void set_of_garbage(void)
{
    REFUSED(107000, "no pool", set(garbage(), ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, 0));
}

static void get_of_garbage(void)
{
    uint64_t value;
    REFUSED(107000, "no pool", aclrtMemPoolGetAttr(garbage(), ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &value));
}

static aclrtMemPool ended(void)
{
    aclrtMemPool pool = make_pool(2 * MIB);
    OK(aclrtMemPoolDestroy(pool));
    return pool;
}

static void set_of_ended(void)
{
    REFUSED(107000, "no pool", set(ended(), ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES, 1));
}

static void get_of_ended(void)
{
    uint32_t value;
    REFUSED(107000, "no pool", aclrtMemPoolGetAttr(ended(), ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES, &value));
}

static void switches(uint32_t value)
{
    aclrtMemPool pool = make_pool(2 * MIB);
    for (int attr = 1; attr <= 3; attr++) {
        uint32_t found = 7;
        set_switch(pool, (aclrtMemPoolAttr)attr, 1 - value);
        set_switch(pool, (aclrtMemPoolAttr)attr, value);
        OK(aclrtMemPoolGetAttr(pool, (aclrtMemPoolAttr)attr, &found));
        CHECK(found == value);
    }
}

static void switches_on(void)
{
    switches(1);
}

static void switches_off(void)
{
    switches(0);
}

static void others_stay(void)
{
    aclrtMemPool pool = make_pool(2 * MIB);
    set_switch(pool, ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES, 1);
    CHECK(attribute(pool, ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC) == 0);
    CHECK(attribute(pool, ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES) == 0);
}

static void reset(aclrtMemPoolAttr high, aclrtMemPoolAttr current)
{
    aclrtMemPool pool = make_pool(64 * MIB);
    allocate(pool, 2 * MIB, one);
    OK(aclrtMemPoolFreeAsync(allocate(pool, 6 * MIB, one), one));
    OK(aclrtSynchronizeStream(one));
    CHECK(attribute(pool, high) == 8 * MIB && attribute(pool, current) == 2 * MIB);
    OK(set(pool, high, 0));
    CHECK(attribute(pool, high) == 2 * MIB);
}

static void reset_reserved_high(void)
{
    reset(ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT);
}

static void reset_used_high(void)
{
    reset(ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT);
}

static void reserved_high_to_100(void)
{
    REFUSED(507000, "100", set(make_pool(2 * MIB), ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH, 100));
}

static void used_high_to_1(void)
{
    REFUSED(507000, "1", set(make_pool(2 * MIB), ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, 1));
}

static void used_is_read_only(void)
{
    REFUSED(107000, "read only", set(make_pool(2 * MIB), ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, 0));
}

static void current_is_read_only(void)
{
    REFUSED(107000, "read only", set(make_pool(2 * MIB), ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT, 0));
    used_is_read_only();
}

static void get_0xff(void)
{
    uint64_t value;
    REFUSED(107000, "255", aclrtMemPoolGetAttr(make_pool(2 * MIB), (aclrtMemPoolAttr)0xff, &value));
}

static void set_0xff(void)
{
    REFUSED(107000, "255", set(make_pool(2 * MIB), (aclrtMemPoolAttr)0xff, 0));
}

static void all_are_read(void)
{
    aclrtMemPool pool = make_pool(2 * MIB);
    for (int attr = 1; attr <= 8; attr++) {
        CHECK(attribute(pool, (aclrtMemPoolAttr)attr) == 0);
    }
}

/* L: which pool an address belongs to. What is no start of an allocation says where it is. */

static void l1(void)
{
    char *base = (char *)allocate(make_pool(2 * MIB), 2 * MIB, one);
    REFUSED(107000, "in no pool", aclrtMemPoolFreeAsync(base - 1, one));
}

static void l2(void)
{
    aclrtMemPool pool = make_pool(2 * MIB);
    OK(aclrtMemPoolFreeAsync(allocate(pool, 2 * MIB, one), one));
    CHECK(used(pool) == 0);
}

static void l3(void)
{
    char *base = (char *)allocate(make_pool(2 * MIB), 2 * MIB, one);
    REFUSED(107000, "inside allocation", aclrtMemPoolFreeAsync(base + 2 * MIB - 1, one));
}

static void l4(void)
{
    char *base = (char *)allocate(make_pool(2 * MIB), 2 * MIB, one);
    REFUSED(107000, "", aclrtMemPoolFreeAsync(base + 2 * MIB, one));
}

static void l5(void)
{
    char *first = (char *)allocate(make_pool(2 * MIB), 2 * MIB, one);
    char *second = (char *)allocate(make_pool(4 * MIB), 4 * MIB, one);
    REFUSED(107000, "inside allocation 2", aclrtMemPoolFreeAsync(second + 2 * MIB, one));
    OK(aclrtMemPoolFreeAsync(second, one));
    OK(aclrtMemPoolFreeAsync(first, one));
}

static const struct row rows[] = {
    {"C1", "16GiB", "a pool of 10 GB is made", ten_of_sixteen, NULL},
    {"C2", "16GiB", "one of 5 GB beside it; they end in any order", in_any_order, NULL},
    {"C3", "16GiB", "size 0: the whole device", whole_device, NULL},
    {"C4", "8MiB", "size 0 on four granules: 8 MB", four_granules, NULL},
    {"C5", "4MiB", "size 0 on two granules", two_granules, NULL},
    {"C6", "4MiB", "6 MB: 107000", six_of_four, NULL},
    {"C7", "2TiB", "2 MB less a byte: rounded up", rounded_up, NULL},
    {"C8", "16GiB", "20 GB: 107000, the handle stays null", twenty_of_sixteen, NULL},
    {"C9", "20GiB", "30 GB: 107000", thirty_of_twenty, NULL},
    {"C13", "16GiB", "a pool ends", ends, NULL},
    {"C14", "16GiB", "the end of null: 100000", end_of_null, NULL},
    {"C15", "16GiB", "made again with the same settings", made_again, "the handle is another one: none comes back"},
    {"C16", "16GiB", "2 MB and 4 MB side by side", side_by_side, NULL},
    {"C18", "16GiB", "pinned, on a device, size 10, zeroes", size_ten, NULL},
    {"C19", "16GiB", "a reserved byte that is not 0: 100000", reserved_byte, NULL},
    {"C20", "16GiB", "the location is the host: 100000", location_is_host, NULL},
    {"C21", "16GiB", "a valid handle ends", ends, NULL},
    {"C22", "16GiB", "a pool ends with a live block in it", ends_with_live_blocks,
     "its memory stays until what is queued is done"},
    {"A1", "16GiB", "the threshold of a new pool is 0", threshold_of_a_new_pool, NULL},
    {"A2", "16GiB", "a threshold of 2 GB", threshold_is_set, NULL},
    {"A3", "16GiB", "set of 0xDEADBEEF: 107000", set_of_garbage, NULL},
    {"A4", "16GiB", "get of 0xDEADBEEF: 107000", get_of_garbage, NULL},
    {"A5", "16GiB", "set of a pool that is not found: 107000", set_of_ended, NULL},
    {"A6", "16GiB", "get of a pool that is not found: 107000", get_of_ended, NULL},
    {"A7", "16GiB", "each switch is set to 1", switches_on, NULL},
    {"A8", "16GiB", "a switch reads 1", switches_on, NULL},
    {"A9", "16GiB", "the other two stay", others_stay, NULL},
    {"A10", "16GiB", "each switch is set to 0", switches_off, NULL},
    {"A11", "16GiB", "RESERVED_HIGH to 0", reset_reserved_high, "it then stands at the current value"},
    {"A12", "16GiB", "RESERVED_HIGH to 100: 507000", reserved_high_to_100, NULL},
    {"A13", "16GiB", "USED_HIGH to 0", reset_used_high, "it then stands at the current value"},
    {"A14", "16GiB", "USED_HIGH to 1: 507000", used_high_to_1, NULL},
    {"A15", "16GiB", "the current values are set: 107000", current_is_read_only, NULL},
    {"A16", "16GiB", "USED_CURRENT is set: 107000", used_is_read_only, NULL},
    {"A17", "16GiB", "get attribute 0xFF: 107000", get_0xff, NULL},
    {"A18", "16GiB", "set attribute 0xFF: 107000", set_0xff, NULL},
    {"A19", "16GiB", "each of the eight is read", all_are_read, NULL},
    {"A24", "16GiB", "set and get reach the threshold", threshold_is_set, NULL},
    {"L1", "16GiB", "a byte before the pool", l1, NULL},
    {"L2", "16GiB", "its first byte", l2, NULL},
    {"L3", "16GiB", "its last byte", l3, NULL},
    {"L4", "16GiB", "a byte behind it", l4, NULL},
    {"L5", "16GiB", "the middle of a second pool", l5, NULL},
};

int main(void)
{
    return ROWS(rows);
}
