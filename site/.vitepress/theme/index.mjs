import DefaultTheme from 'vitepress/theme';
import '@shikijs/twoslash/style-rich.css';
import './style.css';
import ExplorerFigure from './ExplorerFigure.vue';
import LiveCell from './LiveCell.vue';
import { placePopups } from './popups.mjs';

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component('ExplorerFigure', ExplorerFigure);
    app.component('LiveCell', LiveCell);
    if (typeof document !== 'undefined') placePopups();
  },
};
