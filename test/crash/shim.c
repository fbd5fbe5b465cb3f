// Loaded with LD_PRELOAD into a server that a crash test runs. It sees every call that changes a file below FAULT_FOLDER:
// counts it, kills the process before the call with the number FAULT_AT or lets FAULT_TIMES calls from there on fail with
// FAULT_ERROR, and writes each call with its data to FAULT_LOG, in the order in which they took effect.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST 4096
static char *names[MOST];
static const char *folder;
static long fault_at, fault_times = 1, calls;
static int fault_error, log_fd = -1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

__attribute__((constructor)) static void begin(void) {
  folder = getenv("FAULT_FOLDER");
  const char *at = getenv("FAULT_AT"), *error = getenv("FAULT_ERROR"), *times = getenv("FAULT_TIMES");
  const char *log = getenv("FAULT_LOG");
  if (at) fault_at = atol(at);
  if (times) fault_times = atol(times);
  if (error) fault_error = !strcmp(error, "ENOSPC") ? ENOSPC : EIO;
  if (log) log_fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

// The index of the WAL is memory that processes share; SQLite makes it anew after a crash.
static int is_ours(const char *path) {
  if (!folder || !path || strncmp(path, folder, strlen(folder))) return 0;
  size_t length = strlen(path);
  return length < 4 || strcmp(path + length - 4, "-shm");
}

static const char *name_of(int fd) { return fd >= 0 && fd < MOST ? names[fd] : NULL; }

static void put(const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t written = syscall(SYS_write, log_fd, bytes, length);
    if (written < 0 && errno != EINTR) abort();
    if (written > 0) bytes += written, length -= written;
  }
}

static void record(const char *call, const char *path, const char *other, long at, const void *bytes, size_t length) {
  if (log_fd < 0) return;
  int kept = errno;
  char head[9000];
  int size = snprintf(head, sizeof head, "%s\t%ld\t%zu\t%s\t%s\n", call, at, length, path, other);
  put(head, size);
  if (bytes) put(bytes, length);
  errno = kept;
}

// Answers whether the call is to fail. What the load acknowledged is no call of the server.
static int fault(const char *path) {
  size_t length = strlen(path);
  if (length > 5 && !strcmp(path + length - 5, "/acks")) return 0;
  calls += 1;
  if (fault_at == 0 || calls < fault_at || calls >= fault_at + fault_times) return 0;
  if (fault_error == 0) kill(getpid(), SIGKILL), pause();
  errno = fault_error;
  return 1;
}

__attribute__((destructor)) static void end(void) {
  const char *count = getenv("FAULT_COUNT");
  if (!count) return;
  char text[32];
  int fd = syscall(SYS_openat, AT_FDCWD, count, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  log_fd = fd;
  if (fd >= 0) put(text, snprintf(text, sizeof text, "%ld", calls));
}

// Runs a call on a file of ours: the fault, the call and its record are one step.
#define GUARDED(path, run, note)                   \
  pthread_mutex_lock(&mutex);                      \
  long result = fault(path) ? -1 : (long)(run);    \
  if (result >= 0) { note; }                       \
  pthread_mutex_unlock(&mutex);                    \
  return result

static int open_file(const char *path, int flags, mode_t mode) {
  int (*real)(const char *, int, ...) = next("open");
  if (!is_ours(path)) return real(path, flags, mode);
  struct stat before;
  int is_new = (flags & O_CREAT) && stat(path, &before) != 0, changes = is_new || (flags & O_TRUNC);
  pthread_mutex_lock(&mutex);
  int fd = changes && fault(path) ? -1 : real(path, flags, mode);
  if (fd >= 0 && is_new) record("create", path, "", 0, NULL, 0);
  if (fd >= 0 && (flags & O_TRUNC)) record("truncate", path, "", 0, NULL, 0);
  if (fd >= 0 && fd < MOST) names[fd] = strdup(path);
  pthread_mutex_unlock(&mutex);
  return fd;
}

#define OPEN(name)                               \
  int name(const char *path, int flags, ...) {   \
    va_list list;                                \
    va_start(list, flags);                       \
    mode_t mode = va_arg(list, int);             \
    va_end(list);                                \
    return open_file(path, flags, mode);         \
  }
OPEN(open)
OPEN(open64)

int close(int fd) {
  int (*real)(int) = next("close");
  pthread_mutex_lock(&mutex);
  if (name_of(fd)) free(names[fd]), names[fd] = NULL;
  int result = real(fd);
  pthread_mutex_unlock(&mutex);
  return result;
}

static long place_of(int fd) {
  struct stat now;
  return (fcntl(fd, F_GETFL) & O_APPEND) && fstat(fd, &now) == 0 ? now.st_size : lseek(fd, 0, SEEK_CUR);
}

ssize_t write(int fd, const void *bytes, size_t length) {
  ssize_t (*real)(int, const void *, size_t) = next("write");
  const char *path = name_of(fd);
  if (!path) return real(fd, bytes, length);
  long at = place_of(fd);
  GUARDED(path, real(fd, bytes, length), record("write", path, "", at, bytes, result));
}

#define PWRITE(name)                                                              \
  ssize_t name(int fd, const void *bytes, size_t length, off_t at) {              \
    ssize_t (*real)(int, const void *, size_t, off_t) = next("pwrite");           \
    const char *path = name_of(fd);                                               \
    if (!path) return real(fd, bytes, length, at);                                \
    GUARDED(path, real(fd, bytes, length, at), record("write", path, "", at, bytes, result)); \
  }
PWRITE(pwrite)
PWRITE(pwrite64)

#define SYNC(name)                                                        \
  int name(int fd) {                                                      \
    int (*real)(int) = next(#name);                                       \
    const char *path = name_of(fd);                                       \
    if (!path) return real(fd);                                           \
    GUARDED(path, real(fd), record("sync", path, "", 0, NULL, 0));        \
  }
SYNC(fsync)
SYNC(fdatasync)

#define TRUNCATE(name)                                                               \
  int name(int fd, off_t size) {                                                     \
    int (*real)(int, off_t) = next("ftruncate");                                     \
    const char *path = name_of(fd);                                                  \
    if (!path) return real(fd, size);                                                \
    GUARDED(path, real(fd, size), record("truncate", path, "", size, NULL, 0));      \
  }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

int rename(const char *from, const char *to) {
  int (*real)(const char *, const char *) = next("rename");
  if (!is_ours(from)) return real(from, to);
  GUARDED(from, real(from, to), record("rename", from, to, 0, NULL, 0));
}

#define REMOVE(name)                                                     \
  int name(const char *path) {                                           \
    int (*real)(const char *) = next(#name);                             \
    if (!is_ours(path)) return real(path);                               \
    GUARDED(path, real(path), record("remove", path, "", 0, NULL, 0));   \
  }
REMOVE(unlink)
REMOVE(rmdir)

int mkdir(const char *path, mode_t mode) {
  int (*real)(const char *, mode_t) = next("mkdir");
  if (!is_ours(path)) return real(path, mode);
  GUARDED(path, real(path, mode), record("mkdir", path, "", 0, NULL, 0));
}
