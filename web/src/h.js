// SPDX-License-Identifier: MIT
// h.js: what JSX calls; the build puts it into each file.
export {Fragment, h} from "preact";
