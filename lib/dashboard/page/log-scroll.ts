import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** The height of a line that is not wrapped. */
export const row_px = 20;

/**
 * The visible part of the box. While following, it stays at the end of the log; scrolling up stops that and keeps the
 * position.
 */
export function useScroll(count: number, isFollowing: boolean, setFollowing: (follows: boolean) => void) {
  const box = useRef<HTMLElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = new ResizeObserver(() => setHeight(element.clientHeight));
    let last = element.scrollTop;
    const onScroll = () => {
      setTop(element.scrollTop);
      const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < row_px;
      if (element.scrollTop < last && !isAtEnd) setFollowing(false);
      last = element.scrollTop;
    };
    // It may have been scrolled before anybody listened.
    setTop(element.scrollTop);
    measure.observe(element);
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      measure.disconnect();
      element.removeEventListener("scroll", onScroll);
    };
  }, []);
  useLayoutEffect(() => {
    if (isFollowing && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [count, isFollowing, height]);
  /** Brings a line to the middle of the window, wherever its box is. */
  const scrollTo = (index: number) => {
    const element = box.current;
    if (!element) return;
    const line = element.classList.contains("wrapped") ? element.querySelectorAll(".line")[index] : undefined;
    const y = line instanceof HTMLElement ? line.offsetTop : index * row_px;
    element.scrollTop = y - element.clientHeight / 2;
    // A line near an end of the log is at the edge of the box.
    const inWindow = element.getBoundingClientRect().top + y - element.scrollTop;
    scrollBy(0, inWindow - innerHeight / 2);
  };
  return { box, top, height, scrollTo };
}
