// SPDX-License-Identifier: MIT
// waiting.jsx: stands for an answer that the page does not have.

/** What the command said, without its name: a note, because the page did what it could. */
export function Trouble({error}) {
  return error ? (
    <p class="error" role="alert">
      {error.message.replace(/^mallow: /, "")}
    </p>
  ) : null;
}

/** The error, or that the answer is on its way; null: it is there. */
export function notYet({error, data}) {
  if (error && !data) return <Trouble error={error} />;
  return data ? null : (
    <p class="loading" role="status">
      Loading…
    </p>
  );
}

export const Waiting = ({children, ...answer}) => notYet(answer) ?? children;
