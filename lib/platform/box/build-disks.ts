import { spawn } from "node:child_process";
import type { StatsFs } from "node:fs";
import { rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { createOneAtATime } from "../runtime/one-at-a-time.ts";
import { runProgram } from "../runtime/run-program.ts";

/** The folders of a build. While it runs, they are on a separate file system. */
export interface DiskPlaces {
  readonly name: string;
  /** Holds the disk image. During the build, the cached packages are mounted over it. */
  readonly packages: string;
  readonly app: string;
  readonly temporary: string;
  readonly user: number | undefined;
  readonly bytes: number;
}

/** A file system of limited size. It counts everything that a build writes, even unlinked and unreadable files. */
export interface BuildDisk extends Pick<DiskPlaces, "packages" | "app" | "temporary"> {
  /** A command prefix: runs a program in the mount namespace of this file system. */
  readonly within: readonly string[];
  written(): Promise<number>;
  copyApp(to: string, signal: AbortSignal): Promise<void>;
  /** Deletes everything except the packages and frees the file system for another build. */
  close(): void;
}

export interface BuildDisks {
  open(places: DiskPlaces): Promise<BuildDisk>;
  /** Resolves when all closed file systems are unmounted. */
  close(): Promise<void>;
}

const inodeBytes = 256;
export const usedBytes = ({ bsize, blocks, bfree, files, ffree }: Omit<StatsFs, "type" | "bavail">): number =>
  bsize * (blocks - bfree) + inodeBytes * (files - ffree);
const tableBytes = 64 * 1024 ** 2;
/** Half of a build's limit is added for cached packages. */
const sizeFor = (bytes: number) => Math.ceil((1.5 * bytes * 1.05 + tableBytes) / 4096) * 4096;

/** Claims or creates the sparse image `disk` and mounts it. `read` returns when the server closes the pipe or dies. */
const keeping = `
packages=$1 app=$2 temporary=$3 bytes=$4 owner=$5
own=$packages/disk.$6
mv -T "$packages/disk" "$own" 2> /dev/null || :
if [ "$(stat -c %s "$own" 2> /dev/null)" != "$bytes" ]; then
  rm -f "$own"
  truncate -s "$bytes" "$own"
  mkfs.ext4 -q -F -m 0 -i 8192 -O ^has_journal,^resize_inode -E lazy_itable_init=1,nodiscard "$own"
fi
mount -o loop,noinit_itable,nosuid,nodev,noatime "$own" "$packages"
cd "$packages"
mkdir -p app tmp cache
before=$(stat -f -c '%S %b %f %c %d' .)
cp -a -T "$app" app
if [ -n "$owner" ]; then chown -R -h "$owner:$owner" app tmp cache; fi
mount --bind app "$app"
mount --bind tmp "$temporary"
mount --bind cache "$packages"
echo "$before"
read -r _ || :
if [ -n "$(ls -A cache)" ]; then rm -rf app tmp; fstrim . || :; else empty=yes; fi
cd /
# What was removed meanwhile is mounted no longer.
for folder in "$app" "$temporary" "$packages" "$packages"; do umount "$folder" 2> /dev/null || :; done
tries=0
while [ -n "$(losetup -j "$own")" ]; do
  tries=$((tries + 1))
  if [ $tries = 100 ]; then rm "$own"; exit 1; fi
  sleep 0.02
done
if [ "$empty" ]; then rm "$own"; else mv -T "$own" "$packages/disk"; fi
`;

function lastWords(stream: NodeJS.ReadableStream): () => string {
  let text = "";
  stream.on("data", (chunk: Buffer) => {
    text = (text + chunk).slice(-1024);
  });
  return () => text.trim();
}

/** Build disks for a server that runs as root. Each is mounted in a mount namespace that ends with the server. */
export function createBuildDisks(): BuildDisks {
  const closing = createOneAtATime();

  const begin = async ({ name, packages, app, temporary, user, bytes }: DiskPlaces) => {
    const words = [packages, app, temporary, String(sizeFor(bytes)), String(user ?? ""), name];
    const args = ["--mount", "--", "sh", "-ec", keeping, "sh", ...words];
    const keeper = spawn("unshare", args, { cwd: "/", stdio: ["pipe", "pipe", "pipe"] });
    keeper.stdin.on("error", () => {});
    const said = lastWords(keeper.stderr);
    const ended = new Promise<void>((resolve) => keeper.once("close", () => resolve()));
    const before = await new Promise<string>((resolve, reject) => {
      keeper.once("error", reject);
      keeper.once("close", () => reject(new Error(said() || "it ended without a message")));
      keeper.stdout.once("data", (chunk: Buffer) => resolve(String(chunk)));
    }).catch(async (error) => {
      await rm(join(packages, `disk.${name}`), { force: true });
      throw error;
    });
    return { keeper, ended, before: before.trim().split(" ").map(Number) };
  };

  return {
    async open(places) {
      const { packages, app } = places;
      await closing(packages, async () => {});
      const { keeper, ended, before } = await begin(places);
      const [bsize = 0, blocks = 0, bfree = 0, files = 0, ffree = 0] = before;
      const usedBefore = usedBytes({ bsize, blocks, bfree, files, ffree });
      const within = ["nsenter", `--mount=/proc/${keeper.pid}/ns/mnt`, "--"];
      return {
        ...{ packages, app, temporary: places.temporary, within },
        // The path leads through the keeper's mount namespace, which ends with the keeper.
        written: () =>
          statfs(`/proc/${keeper.pid}/root${packages}`).then(
            (of) => usedBytes(of) - usedBefore,
            () => 0,
          ),
        copyApp: async (to, signal) =>
          void (await runProgram([...within, "cp", "-a", "-T", "--", app, to], { signal })),
        close() {
          keeper.stdin.end();
          void closing(packages, () => ended);
        },
      };
    },

    close: closing.all,
  };
}
