document.querySelectorAll("table.sortable").forEach(function(table){
var body=table.tBodies[0],heads=Array.from(table.tHead.rows[0].cells);
heads.forEach(function(head,column){
var button=document.createElement("button");button.type="button";button.append(...head.childNodes);head.append(button);
button.addEventListener("click",function(){
var down=head.getAttribute("aria-sort")==="ascending";
heads.forEach(function(other){other.removeAttribute("aria-sort")});
head.setAttribute("aria-sort",down?"descending":"ascending");
var key=function(row){var cell=row.cells[column],told=cell.dataset.value;
return told===undefined?cell.textContent:told===""?NaN:Number(told)};
var order=function(a,b){var x=key(a),y=key(b);
if(typeof x==="string"||typeof y==="string")return String(x).localeCompare(String(y))*(down?-1:1);
if(isNaN(x)||isNaN(y))return isNaN(x)-isNaN(y);
return (x-y)*(down?-1:1)};
Array.from(body.rows).sort(order).forEach(function(row){body.append(row)})})})});
