// Prints a line for each file below a directory: path, type and mode, owner, links, target, attributes, sum of the contents.
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

static size_t skip;

static void contents(const char *path) {
	unsigned long sum = 5381;
	unsigned char buf[65536];
	ssize_t n;
	int fd = open(path, O_RDONLY);
	while (fd >= 0 && (n = read(fd, buf, sizeof buf)) > 0)
		for (ssize_t i = 0; i < n; i++)
			sum = sum * 33 + buf[i];
	close(fd);
	printf(" sum=%lx", sum);
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *ftw) {
	char text[4096], value[4096];
	const char *name = path + skip;
	if (ftw->level == 0 || !strncmp(name, "/proc", 5) || !strncmp(name, "/dev", 4) || !strcmp(name, "/lister"))
		return 0;
	printf("%s %o %u:%u", name, st->st_mode, st->st_uid, st->st_gid);
	if (!S_ISDIR(st->st_mode))
		printf(" links=%u @%lld", (unsigned)st->st_nlink, (long long)st->st_mtime);
	ssize_t n = type == FTW_SL ? readlink(path, text, sizeof text - 1) : -1;
	if (n >= 0)
		printf(" -> %.*s", (int)n, text);
	n = llistxattr(path, text, sizeof text);
	for (char *at = text; at < text + n; at += strlen(at) + 1) {
		ssize_t size = lgetxattr(path, at, value, sizeof value);
		printf(" %s=", at);
		for (ssize_t i = 0; i < size; i++)
			printf("%02x", (unsigned char)value[i]);
	}
	if (S_ISREG(st->st_mode))
		contents(path);
	printf("\n");
	return 0;
}

int main(int argc, char **argv) {
	const char *root = argc > 1 ? argv[1] : "/";
	skip = strcmp(root, "/") ? strlen(root) : 0;
	return nftw(root, visit, 16, FTW_PHYS);
}
