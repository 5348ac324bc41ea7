/* Reads one JSON text per line. Prints what the array's numbers are, or "refused", and the blocks that were not given back. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cJSON.h"

static long live, budget;

static void *take(size_t size) {
  if (budget == 0) return NULL;
  if (budget > 0) budget--;
  live++;
  return malloc(size);
}

static void give(void *block) {
  if (block != NULL) live--;
  free(block);
}

int main(void) {
  static char line[1 << 20];
  cJSON_Hooks hooks;
  hooks.malloc_fn = take;
  hooks.free_fn = give;
  cJSON_InitHooks(&hooks);
  while (fgets(line, sizeof line, stdin) != NULL) {
    char *text = line;
    cJSON *array, *item;
    line[strcspn(line, "\n")] = '\0';
    budget = strtol(line, &text, 10); /* allocations allowed, -1: any number */
    text++;
    array = cJSON_ParseWithLength(text, strlen(text));
    if (array == NULL) printf("refused");
    cJSON_ArrayForEach(item, array) printf("%.17g ", item->valuedouble);
    cJSON_Delete(array);
    printf("/%ld\n", live);
  }
  return 0;
}
