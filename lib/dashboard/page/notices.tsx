import { Button } from "./controls.tsx";
import { isOld, lostAt } from "./live.ts";

/** Problems of the whole page: no connection, or an old version. */
export function Notices() {
  const lost = lostAt.value;
  return (
    <div role="status" class="notices">
      {lost && (
        <p>
          The service has not answered since {lost.toLocaleTimeString([], { hour12: false })} on this machine. The page
          shows what it knew then, and will catch up by itself.
        </p>
      )}
      {isOld.value && (
        <p class="row">
          The service was upgraded. This tab still runs the previous version.
          <Button onClick={() => location.reload()}>Reload</Button>
        </p>
      )}
    </div>
  );
}
