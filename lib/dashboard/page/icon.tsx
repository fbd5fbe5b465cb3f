import * as lucide from "lucide";
import { createElement } from "preact";

const icons = {
  activity: lucide.Activity,
  arrows: lucide.ArrowLeftRight,
  back: lucide.ChevronLeft,
  box: lucide.Box,
  bug: lucide.Bug,
  camera: lucide.Camera,
  check: lucide.Check,
  clapperboard: lucide.Clapperboard,
  close: lucide.X,
  coins: lucide.Coins,
  copy: lucide.Copy,
  dashboard: lucide.LayoutDashboard,
  download: lucide.Download,
  fork: lucide.GitFork,
  gantt: lucide.ChartGantt,
  image: lucide.Image,
  inbox: lucide.Inbox,
  key: lucide.KeyRound,
  keyboard: lucide.Keyboard,
  logOut: lucide.LogOut,
  mail: lucide.Mail,
  menu: lucide.Menu,
  more: lucide.Ellipsis,
  next: lucide.SkipForward,
  play: lucide.Play,
  plug: lucide.Plug,
  record: lucide.CircleDot,
  rocket: lucide.Rocket,
  scroll: lucide.ScrollText,
  search: lucide.Search,
  snowflake: lucide.Snowflake,
  stop: lucide.Square,
  telescope: lucide.Telescope,
  terminal: lucide.Terminal,
  theme: lucide.SunMoon,
  undo: lucide.Undo2,
  users: lucide.Users,
  webhook: lucide.Webhook,
  zap: lucide.Zap,
} as const;
export type IconName = keyof typeof icons;

/** A picture beside a word; screen readers pass over it. */
export const Icon = ({ of }: { of: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    {icons[of].map(([tag, attributes]) => createElement(tag, attributes))}
  </svg>
);
