// SPDX-License-Identifier: MIT
// waiting.jsx: stands for an answer that the page does not have.

/** The error, or that the answer is on its way; null: it is there. */
export function notYet({error, data}) {
  if (error && !data)
    return (
      <p class="error" role="alert">
        {error.message}
      </p>
    );
  return data ? null : (
    <p class="loading" role="status">
      Loading…
    </p>
  );
}

export const Waiting = ({children, ...answer}) => notYet(answer) ?? children;
