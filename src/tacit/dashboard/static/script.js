// What pages do where there is a script. Without it they look again by themselves, and forms are sent.
(function () {
  "use strict";
  var body = document.body;

  // A page that waits for something looks again.
  var wait = body.getAttribute("data-wait");
  function again() {
    if (document.querySelector("[name=sure]:checked")) return; // somebody is about to confirm
    location.reload();
  }
  if (wait) setTimeout(again, 1000 * Number(wait));

  // Long work: what the server sends as it goes on.
  document.querySelectorAll("[data-events]").forEach(function (box) {
    var text = box.querySelector("[data-progress]");
    var source = new EventSource(box.getAttribute("data-events"));
    source.onmessage = function (event) {
      var told = JSON.parse(event.data);
      text.textContent = told.progress;
      if (told.over) { source.close(); setTimeout(function () { location.reload(); }, 400); }
    };
    source.onerror = function () { source.close(); setTimeout(function () { location.reload(); }, 2000); };
  });

  document.querySelectorAll("[data-print]").forEach(function (button) {
    button.hidden = false;
    button.addEventListener("click", function () { window.print(); });
  });

  // The plan: sliders beside numbers, and an answer that follows them.
  var form = document.querySelector("[data-plan]");
  if (!form) return;
  var answer = document.getElementById("answer");
  var asked = 0;
  var timer = 0;

  function ask(soon, again) {
    clearTimeout(timer);
    timer = setTimeout(function () {
      if (!form.checkValidity()) return;
      var own = ++asked;
      var query = new URLSearchParams(new FormData(form)).toString();
      history.replaceState(null, "", "?" + query);
      if (!again) answer.setAttribute("aria-busy", "true");
      fetch(form.action + "?" + query + "&part=answer", { credentials: "same-origin" })
        .then(function (found) { return found.text(); })
        .then(function (text) {
          if (own !== asked) return;
          answer.innerHTML = text;
          answer.removeAttribute("aria-busy");
          if (answer.querySelector("[data-again]")) ask(400, true);
        });
    }, soon);
  }

  form.querySelectorAll("input[type=range]").forEach(function (slider) {
    var field = document.getElementById(slider.getAttribute("data-for"));
    var low = Number(field.min), high = Number(field.max);
    var logs = slider.hasAttribute("data-log");
    function toSlider() {
      var value = Math.min(Math.max(Number(field.value) || low, low), high);
      slider.value = logs ? 100 * Math.log(value / low) / Math.log(high / low) : value;
      slider.setAttribute("aria-valuetext", field.value);
    }
    slider.hidden = false;
    toSlider();
    slider.addEventListener("input", function () {
      var value = Number(slider.value);
      if (logs) value = Number((low * Math.pow(high / low, value / 100)).toPrecision(2));
      field.value = value;
      slider.setAttribute("aria-valuetext", field.value);
      ask(250);
    });
    field.addEventListener("input", function () { toSlider(); ask(500); });
  });
  form.addEventListener("submit", function (event) { event.preventDefault(); ask(0); });
  if (answer.querySelector("[data-again]")) ask(400, true);
})();
