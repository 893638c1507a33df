// SPDX-License-Identifier: MIT
// menu.jsx: a menu that closes when something else is clicked.
import {useEffect, useRef} from "preact/hooks";

export function Menu({title, children}) {
  const box = useRef(null);
  useEffect(() => {
    const close = event => {
      if (
        box.current?.open &&
        (event.key === "Escape" || (event.type === "click" && !box.current.contains(event.target)))
      )
        box.current.open = false;
    };
    window.addEventListener("click", close);
    window.addEventListener("keydown", close);
    return () => {
      window.removeEventListener("click", close);
      window.removeEventListener("keydown", close);
    };
  }, []);
  return (
    <details class="menu" ref={box}>
      <summary>{title}</summary>
      <div>{children}</div>
    </details>
  );
}
