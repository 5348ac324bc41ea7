#include <errno.h>
#include <string.h>

#include "../src/user.h"
#include "unit.h"

static int look(const char *spec, struct user *user) {
  return user_lookup((struct bytes){(const uint8_t *)spec, (uint32_t)strlen(spec)}, user);
}

static void finds(void) {
  struct user user;
  CHECK(!look("", &user) && user.uid == 0 && user.gid == 0 && !strcmp(user.name, "root"));
  CHECK(!look("root", &user) && user.known && !strcmp(user.home, "/root"));
  CHECK(!look("0", &user) && !strcmp(user.name, "root"));
  CHECK(!look("nobody", &user) && user.uid == 65534);
  CHECK(!look("54321:54322", &user) && user.uid == 54321 && user.gid == 54322 && !user.known);
  CHECK(!look("54321", &user) && user.gid == 54321 && user.groupCount == 1 && !strcmp(user.home, "/"));
  CHECK(!look("root:tty", &user) && user.uid == 0 && user.gid == 5);
}

static void refuses(void) {
  struct user user;
  CHECK(look("nonesuch", &user) == -ENOENT);
  CHECK(look("root:nonesuch", &user) == -ENOENT);
  CHECK(look(":", &user) == -EINVAL);
  CHECK(look("root:", &user) == -EINVAL);
  CHECK(look("-1", &user) == -ENOENT);
  CHECK(look("4294967295", &user) == -ENOENT); /* "no change" to setresuid */
  CHECK(look("99999999999999999999", &user) == -ENOENT);
}

const struct unit user_units[] = {
    {"a user is found by name, by number and with a group", finds},
    {"a user that is not there, or would mean no change, is refused", refuses},
    {0},
};
