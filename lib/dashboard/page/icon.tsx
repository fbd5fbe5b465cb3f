import activity from "lucide/dist/esm/icons/activity.mjs";
import arrows from "lucide/dist/esm/icons/arrow-left-right.mjs";
import box from "lucide/dist/esm/icons/box.mjs";
import bug from "lucide/dist/esm/icons/bug.mjs";
import camera from "lucide/dist/esm/icons/camera.mjs";
import gantt from "lucide/dist/esm/icons/chart-gantt.mjs";
import check from "lucide/dist/esm/icons/check.mjs";
import record from "lucide/dist/esm/icons/circle-dot.mjs";
import clapperboard from "lucide/dist/esm/icons/clapperboard.mjs";
import coins from "lucide/dist/esm/icons/coins.mjs";
import copy from "lucide/dist/esm/icons/copy.mjs";
import download from "lucide/dist/esm/icons/download.mjs";
import image from "lucide/dist/esm/icons/image.mjs";
import inbox from "lucide/dist/esm/icons/inbox.mjs";
import key from "lucide/dist/esm/icons/key-round.mjs";
import keyboard from "lucide/dist/esm/icons/keyboard.mjs";
import dashboard from "lucide/dist/esm/icons/layout-dashboard.mjs";
import logOut from "lucide/dist/esm/icons/log-out.mjs";
import mail from "lucide/dist/esm/icons/mail.mjs";
import menu from "lucide/dist/esm/icons/menu.mjs";
import play from "lucide/dist/esm/icons/play.mjs";
import plug from "lucide/dist/esm/icons/plug.mjs";
import rocket from "lucide/dist/esm/icons/rocket.mjs";
import scroll from "lucide/dist/esm/icons/scroll-text.mjs";
import search from "lucide/dist/esm/icons/search.mjs";
import next from "lucide/dist/esm/icons/skip-forward.mjs";
import snowflake from "lucide/dist/esm/icons/snowflake.mjs";
import stop from "lucide/dist/esm/icons/square.mjs";
import theme from "lucide/dist/esm/icons/sun-moon.mjs";
import telescope from "lucide/dist/esm/icons/telescope.mjs";
import terminal from "lucide/dist/esm/icons/terminal.mjs";
import undo from "lucide/dist/esm/icons/undo-2.mjs";
import users from "lucide/dist/esm/icons/users.mjs";
import webhook from "lucide/dist/esm/icons/webhook.mjs";
import close from "lucide/dist/esm/icons/x.mjs";
import zap from "lucide/dist/esm/icons/zap.mjs";
import { createElement } from "preact";

const icons = {
  activity,
  arrows,
  box,
  bug,
  camera,
  check,
  clapperboard,
  close,
  coins,
  copy,
  dashboard,
  download,
  gantt,
  image,
  inbox,
  key,
  keyboard,
  logOut,
  mail,
  menu,
  next,
  play,
  plug,
  record,
  rocket,
  scroll,
  search,
  snowflake,
  stop,
  telescope,
  terminal,
  theme,
  undo,
  users,
  webhook,
  zap,
} as const;
export type IconName = keyof typeof icons;

/** A picture beside a word; screen readers pass over it. */
export const Icon = ({ of }: { of: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    {icons[of].map(([tag, attributes]) => createElement(tag, attributes))}
  </svg>
);
