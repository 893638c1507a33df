// SPDX-License-Identifier: MIT
// hooks.js: what pages share: loading, repeating, the theme.
import {useCallback, useEffect, useLayoutEffect, useRef, useState} from "preact/hooks";

/** Loads by `load` when `key` changes, and again each `periodMs`.  Answers that come late, after
 * the key has changed, are dropped.  A hidden page asks for nothing. */
export function useLoad(load, key, periodMs = 0) {
  const [state, setState] = useState({key: null, data: null, error: null, isLoading: true});
  const latest = useRef(0);
  const run = useCallback(async () => {
    const turn = ++latest.current;
    try {
      const data = await load();
      if (turn === latest.current) setState({key, data, error: null, isLoading: false});
    } catch (error) {
      if (turn === latest.current)
        setState(old => ({key, data: old.key === key ? old.data : null, error, isLoading: false}));
    }
  }, [key]);
  /* Before the page is painted: the server works meanwhile. */
  useLayoutEffect(() => {
    setState(old => (old.key === key ? old : {...old, isLoading: true}));
    run();
    if (!periodMs)
      return () => {
        latest.current++;
      };
    let timer = 0,
      isOver = false;
    const again = async () => {
      if (!document.hidden) await run();
      if (!isOver) timer = setTimeout(again, periodMs);
    };
    timer = setTimeout(again, periodMs);
    return () => {
      isOver = true;
      clearTimeout(timer);
      latest.current++;
    };
  }, [run, periodMs]);
  return {...state, reload: run};
}

/** "dark" or "light", kept for the next time. */
export function useTheme() {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  /* Set before the first view is made: some ask for the theme then. */
  const set = name => {
    document.documentElement.classList.toggle("dark", name === "dark");
    return name;
  };
  const [theme, setTheme] = useState(() => set(remembered("theme") ?? system));
  useEffect(() => {
    set(theme);
    window.dispatchEvent(new Event("theme"));
  }, [theme]);
  return [
    theme,
    () =>
      setTheme(old => {
        const next = old === "dark" ? "light" : "dark";
        remember("theme", next);
        return next;
      }),
  ];
}

function remembered(key) {
  try {
    return localStorage.getItem("mallow." + key);
  } catch {
    return null;
  }
}

function remember(key, value) {
  try {
    localStorage.setItem("mallow." + key, value);
  } catch {
    /* not permitted */
  }
}
