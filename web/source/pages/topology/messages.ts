import { messages } from '../../app/language/language.ts'

/** The texts of paths between assets. */
export const topologyMessages = messages({
  en: {
    path: 'Path to…',
    pathFrom: (name: string) => `Path from ${name}`,
    pathTo: 'Target asset',
    showPath: 'Show path',
    pathBetween: (from: string, to: string) => `From ${from} to ${to}`,
    noPath: 'No path found',
    pathTooLarge: 'Search stopped: too many relations',
    pathSteps: (count: number) => `${count} ${count === 1 ? 'relation' : 'relations'}`,
    done: 'Done',
    pick: 'Choose an asset from the list',
  },
  de: {
    path: 'Pfad zu…',
    pathFrom: (name: string) => `Pfad von ${name}`,
    pathTo: 'Ziel-Asset',
    showPath: 'Pfad anzeigen',
    pathBetween: (from: string, to: string) => `Von ${from} nach ${to}`,
    noPath: 'Kein Pfad gefunden',
    pathTooLarge: 'Suche abgebrochen: zu viele Beziehungen',
    pathSteps: (count: number) => `${count} ${count === 1 ? 'Beziehung' : 'Beziehungen'}`,
    done: 'Fertig',
    pick: 'Asset aus der Liste auswählen',
  },
})
