// The theme names its search field "Search", but shows the keys as well: what is seen and what is said must agree.
for (const button of document.querySelectorAll(".search-button-field")) button.removeAttribute("aria-label");
