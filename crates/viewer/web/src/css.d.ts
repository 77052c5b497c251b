// Lets TypeScript know that style sheets can be imported; vite puts them into the page.
declare module "*.css";
