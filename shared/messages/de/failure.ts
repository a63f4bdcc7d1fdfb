import type { FailureMessages } from "../en/failure.ts";

/** The page that takes the place of one that could not be loaded or drawn, in German. */
export const messages: FailureMessages = {
  title: "Diese Seite konnte nicht angezeigt werden",
  text: "Vielleicht wurde der Server aktualisiert, während die Seite offen war. Laden Sie die Seite neu.",
  not_charged: "Es wurde nichts abgebucht.",
  reload: "Neu laden",
  paid: "Vielen Dank für Ihren Einkauf",
  paid_how:
    "Ihre Bestellung ist abgeschlossen, aber diese Seite kann die Einzelheiten nicht anzeigen. Sie finden sie bei Ihren Käufen.",
  pending: "Ihre Zahlung wird bearbeitet",
  pending_how:
    "Zahlen Sie nicht noch einmal. Hat Ihre Bank eine Rückfrage, laden Sie die Seite neu und beantworten Sie sie.",
  purchases: "Ihre Käufe öffnen",
};
