import { closeSync, openSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { readIfReadable } from "./cgroup-files.ts";

/** Where the writes of a box to the app's folder go: into an overlay, or into a copy of the release. */
export interface Layers {
  readonly kind: "overlay" | "copy";
  readonly bytes: number;
}

/** The folder of the setup in which a layer lies. */
export const layer = "layer";
/** This file holds the number of free blocks before the box wrote to a copy. A change within a block is not noticed. */
const before = "free-before";

/** The shell expression for a copy's bytes in memory: whole pages for each file, without compression by the disk. */
const sizeOf = (at: string) =>
  `$(du -sk --apparent-size ${at} | cut -f1) * 1024 + $(du -s --inodes ${at} | cut -f1) * 4096`;

/** The shell commands that put a layer over the folder `at` of the setup's folder. It ends with the box. */
export function layerOver(place: string, at: string, { kind, bytes }: Layers, user: number | undefined): string[] {
  const [over, top] = [join(place, at), join(place, layer)];
  const options = "mode=755,nosuid,nodev,size=";
  if (kind === "copy")
    return [
      `mount -t tmpfs -o ${options}$((${sizeOf(at)} + ${bytes})) ${layer} ${top}`,
      `cp -a -T ${at} ${layer}`,
      `stat -f -c %f ${layer} > ${before}`,
      `mount --bind ${top} ${over}`,
    ];
  const owner = user === undefined ? "" : `-o ${user} -g ${user} `;
  // In a user namespace, only attributes of this kind can be written.
  const attributes = process.getuid?.() === 0 ? "" : ",userxattr";
  const parts = `lowerdir=${over},upperdir=${top}/upper,workdir=${top}/work${attributes}`;
  return [
    `mount -t tmpfs -o ${options}${bytes} ${layer} ${top}`,
    `install -d -m 755 ${owner}${layer}/upper ${layer}/work`,
    `mount -t overlay -o ${parts} ${layer} ${over}`,
  ];
}

/**
 * Keeps the layer of a box open. The returned function tells, after the end of the box, whether the box wrote there.
 * Otherwise the layer would be gone by then.
 */
export function holdLayer(place: string, pid: number | undefined): () => boolean {
  try {
    const root = `/proc/${pid}/root${place}`;
    const held = openSync(join(root, layer), "r");
    const free = Number(readIfReadable(join(root, before)));
    return () => {
      try {
        const { blocks, bfree } = statfsSync(`/proc/self/fd/${held}`);
        return bfree < (free || blocks);
      } finally {
        closeSync(held);
      }
    };
  } catch {
    return () => false; // The box has ended.
  }
}
