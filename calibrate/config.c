#include "calibrate/config.h"
#include "sim/number.h"
#include "sim/utf8.h"
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A config.json is a few KiB; weights given by mistake are not read into memory. */
enum { FILE_MAX = 4 << 20 };

void config_fail(struct config *c, const char *fmt, ...)
{
	if (c->failed)
		return;
	char text[sizeof(c->e->text)];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(c->e, "%.400s: %.600s", c->path, text);
	c->failed = true;
}

static const char *type_name(const json_t *v)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "an object",   [JSON_ARRAY] = "an array",
		[JSON_STRING] = "a string",    [JSON_INTEGER] = "an integer",
		[JSON_REAL] = "a real number", [JSON_TRUE] = "true",
		[JSON_FALSE] = "false",	       [JSON_NULL] = "null",
	};
	return names[json_typeof(v)];
}

static const json_t *find(const struct config *c, const char *key)
{
	const json_t *v = c->failed ? NULL : json_object_get(c->root, key);
	return v && !json_is_null(v) ? v : NULL;
}

bool config_has(const struct config *c, const char *key)
{
	return find(c, key) != NULL;
}

static int64_t in_range(struct config *c, const char *key, const json_t *v, int64_t min,
			int64_t max)
{
	if (!json_is_integer(v)) {
		config_fail(c, "%s is %s: it must be an integer from %lld to %lld", key,
			    type_name(v), (long long)min, (long long)max);
		return 0;
	}
	int64_t n = json_integer_value(v);
	if (n >= min && n <= max)
		return n;
	config_fail(c, "%s is %lld: it must be from %lld to %lld", key, (long long)n,
		    (long long)min, (long long)max);
	return 0;
}

int64_t config_int(struct config *c, const char *key, int64_t max)
{
	const json_t *v = find(c, key);
	if (v)
		return in_range(c, key, v, 1, max);
	config_fail(c, "%s is missing: it must be an integer from 1 to %lld", key, (long long)max);
	return 0;
}

int64_t config_int_or(struct config *c, const char *key, int64_t min, int64_t max, int64_t init)
{
	const json_t *v = find(c, key);
	return v ? in_range(c, key, v, min, max) : init;
}

bool config_bool_or(struct config *c, const char *key, bool init)
{
	const json_t *v = find(c, key);
	if (!v)
		return init;
	if (!json_is_boolean(v))
		config_fail(c, "%s is %s: it must be true or false", key, type_name(v));
	return json_is_true(v);
}

double config_real(struct config *c, const char *key, double min, double max, bool required,
		   double init)
{
	char low[REAL_TEXT_MAX], high[REAL_TEXT_MAX], is[REAL_TEXT_MAX];
	const json_t *v = find(c, key);
	if (!v && !required)
		return init;
	print_real(min, low, sizeof(low));
	print_real(max, high, sizeof(high));
	if (!v)
		config_fail(c, "%s is missing: it must be a number from %s to %s", key, low, high);
	else if (!json_is_number(v))
		config_fail(c, "%s is %s: it must be a number from %s to %s", key, type_name(v),
			    low, high);
	double n = json_number_value(v);
	print_real(n, is, sizeof(is));
	if (!(n >= min && n <= max))
		config_fail(c, "%s is %s: it must be from %s to %s", key, is, low, high);
	return c->failed ? 0 : n;
}

const char *config_text(struct config *c, const char *key)
{
	const json_t *v = find(c, key);
	if (v && !json_is_string(v))
		config_fail(c, "%s is %s: it must be a string", key, type_name(v));
	return json_string_value(v);
}

static bool has_control(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return true;
	return false;
}

void config_line(struct config *c, const char *key, char *to, size_t size)
{
	const char *text = config_text(c, key);

	if (!text)
		return;
	if (strlen(text) >= size || !*text)
		config_fail(c, "%s has %zu bytes: it must have from 1 to %zu", key, strlen(text),
			    size - 1);
	else if (has_control(text))
		config_fail(c, "%s has a control character in it: it must be one line of text",
			    key);
	else
		snprintf(to, size, "%s", text);
}

void config_known(struct config *c, const char *const *names, size_t n)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)c->root, key, value)
	{
		bool known = false;
		for (size_t i = 0; i < n; i++)
			known = known || strcmp(key, names[i]) == 0;
		if (known)
			continue;
		struct err unknown;
		err_unknown(&unknown, "field", key, names, n);
		config_fail(c, "%s", unknown.text);
		return;
	}
}

bool config_is_path(const char *name)
{
	size_t len = strlen(name);
	return strchr(name, '/') || (len > 5 && strcmp(name + len - 5, ".json") == 0);
}

int config_suggest(const char *name, const char *kind, struct err *e)
{
	if (!name[0] || access(name, F_OK) != 0)
		return err_set(e, "%s, or the path of a %s", e->text, kind);
	return err_set(e, "%s; the file or folder of that name here is ./%.200s", e->text, name);
}

json_t *config_json(const char *text)
{
	char *clean = xstrdup(text);
	utf8_clean(clean);
	json_t *v = json_string(clean);
	free(clean);
	return v;
}

void config_name(char *name, size_t size, const char *path)
{
	const char *end = strrchr(path, '/');
	const char *start = end ? end + 1 : path;
	if (strcmp(start, "config.json") == 0 && end && end > path) {
		while (end > path + 1 && end[-1] == '/')
			end--;
		for (start = end; start > path && start[-1] != '/';)
			start--;
	} else {
		end = strstr(start, ".json");
		if (!end || end[5])
			end = start + strlen(start);
	}
	size_t len = (size_t)(end - start);
	if (len >= size)
		len = size - 1;
	memcpy(name, start, len);
	name[len] = '\0';
	utf8_clean(name);
}

/* A folder stands for the config.json in it. */
static int find_file(struct config_file *f, const char *path, const char *what, struct err *e)
{
	struct stat st;
	int n = snprintf(f->path, sizeof(f->path), "%s", path);
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		n = snprintf(f->path, sizeof(f->path), "%s/config.json", path);
	if (n < 0 || (size_t)n >= sizeof(f->path))
		return err_set(e, "the path of a %s's config.json is longer than %zu bytes", what,
			       sizeof(f->path) - 1);
	if (stat(f->path, &st) != 0)
		return err_set(e, "cannot read the %s config %.700s: %s", what, f->path,
			       strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, "%.700s is not a regular file: a %s is a JSON file", f->path,
			       what);
	if (st.st_size > FILE_MAX)
		return err_set(e, "%.700s has %lld bytes, too many for the JSON file of a %s",
			       f->path, (long long)st.st_size, what);
	return 0;
}

int config_open(struct config_file *f, const char *path, const char *what, struct err *e)
{
	if (find_file(f, path, what, e))
		return -1;
	json_error_t at;
	f->root = json_load_file(f->path, JSON_REJECT_DUPLICATES, &at);
	if (!f->root)
		return err_set(e, "%.400s:%d:%d: not valid JSON: %s", f->path, at.line, at.column,
			       at.text);
	f->config = (struct config){.root = f->root, .path = f->path, .e = e};
	if (!json_is_object(f->root))
		config_fail(&f->config, "the file holds %s: it must be an object",
			    type_name(f->root));
	return 0;
}

int config_close(struct config_file *f)
{
	json_decref(f->root);
	return f->config.failed ? -1 : 0;
}

int model_config_load(struct model *m, const char *path, struct err *e)
{
	struct config_file file;
	struct model read = {.dtype_bytes = 0};
	if (config_open(&file, path, "model", e))
		return -1;
	config_name(read.name, sizeof(read.name), file.path);
	if (!file.config.failed)
		family_read(&file.config, &read);
	if (config_close(&file))
		return -1;
	*m = read;
	return 0;
}
