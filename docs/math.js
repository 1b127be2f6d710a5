/* Formulas by KaTeX, which is a part of the site, so that it can be read without a network. */
document.addEventListener("DOMContentLoaded", () => {
  renderMathInElement(document.body, { delimiters: [
    { left: "\\(", right: "\\)", display: false }, { left: "\\[", right: "\\]", display: true } ] });
});
